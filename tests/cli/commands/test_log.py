import gzip
import os
import sys
from functools import partial
from pathlib import Path

import pytest
from command import tagwire_outcome, tagwire_rows
from small_logs import stock

from tagwire.records import Record, build

SEGMENT = "00000000000000000000.log"
outcome = partial(tagwire_outcome, "log")
rows = partial(tagwire_rows, "log")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("dump", "missing"), 2, "missing can't be read: No such file"),
        (("dump", "empty"), 1, "no partition found in this folder"),
        (("salvage", "a.log", "--output", "b"), 1, "give the folder of its partition"),
        (("salvage", "c-0", "a.log", "--output", "b"), 1, "a.log: a single segment can't be salvaged"),
        (("dump", "empty", "--format", "v22"), 2, "'--format': there is no record format 'v22'; did you mean 'v2'"),
        (("convert", "c-0", "--to", "auto", "--output", "b"), 2, "'--to': there is no record format 'auto'"),
        (("dump", "a.log", "--limit", "x=1"), 2, "expected NAME=N"),
        (("dump", "a.log.gz"), 1, "a.log.gz is compressed by gzip; decompress it first"),
        (("dump", "a.log", "--start-offset", "-5"), 2, "-5 is not in the range x>=0"),
        (("dump", "a.log", "--start-offset", "9", "--end-offset", "9"), 2, "--end-offset must be after --start-offset"),
        (("dump", "a.log", "--start-time", "9", "--end-time", "5"), 2, "--end-time must be after --start-time"),
        (("stat", "bad.log"), 1, "begin with 'attributes'; to skip damaged parts, add --lenient"),
    ],
)
def test_rejected_input(
    arguments: tuple[str, ...], code: int, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    for path in (Path("a.log"), Path("c-0", SEGMENT)):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(build([Record(0, 300, b"k", b"v")], "v2").encode())
    Path("bad.log").write_bytes(Path("a.log").read_bytes()[:-1] + b"x")
    Path("a.log.gz").write_bytes(gzip.compress(Path("a.log").read_bytes()))
    found, _, err = outcome(*arguments)
    assert found == code and sentence in err and not Path("b").exists()


@pytest.mark.parametrize("output", ["logs/new", "logs", "other/../logs/new", "link", "link/new", "logs/c-0/new"])
@pytest.mark.parametrize("command", ["compact", "convert", "salvage"])
def test_output_inside_the_folder_of_all_partitions(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stock(Path("logs/c-0"))
    Path("other").mkdir()
    Path("link").symlink_to("logs")
    before = sorted(tmp_path.rglob("*"))
    for path in ("logs", "link", tmp_path / "logs", "other/../logs"):
        code, _, err = outcome(command, path, "--output", output, "--resume")
        assert code == 1 and f"is inside {path}, which is being read; choose an output outside of {path}" in err
        assert sorted(tmp_path.rglob("*")) == before
    assert outcome(command, "logs", "--output", "other")[0] == 0


@pytest.mark.parametrize("output", ["c-0", "c-0/deep/new", "sub/../c-0", "link/new"])
def test_output_inside_a_source(output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("link").symlink_to(stock(Path("c-0")))
    stock(Path("b-0"))
    before = sorted(tmp_path.rglob("*"))
    for command in ("compact", "convert", "salvage"):
        for paths in (["c-0"], ["b-0", "c-0"], ["."]):
            code, _, err = outcome(command, *paths, "--output", output)
            assert code == 1 and f" is inside {paths[-1]}, which is being read; choose an output outside of " in err
            assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="paths are text there")
def test_paths_that_are_not_text(tmp_path: Path) -> None:
    folder = stock(Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff-0")))
    for command in (("dump",), ("stat",), ("verify",), ("compact", "--output", tmp_path / "to")):
        row = rows(command[0], folder, *command[1:])[0]
        assert row.get("file", row.get("partition", "")).startswith(str(folder)), command
