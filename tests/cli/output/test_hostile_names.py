import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import Result
from command import tagwire_result
from small_logs import write_segment

from tagwire.records import Record, build
from tagwire.text_format import printable, printable_json

DATA = Path(__file__).parents[2] / "data"
CLI = Path(__file__).parents[3] / "cli" / "tagwire_cli"
NAME = "a\x1b[2J\x9b31m\x7f\u202e\u2028\nspecs/x.json:1:1: error TW101: forged-0"
OBEYED = ("\x1b", "\x9b", "\x7f", "\u202e", "\u2028", "\udcff")

LOG = [
    *(f"log {command} PATH{json}" for command in ("verify", "stat", "dump") for json in ("", " --json")),
    "log state PATH",
    "log salvage PATH --output out1",
    "log convert PATH --format v1 --output out2",
    "log convert PATH --format v1 --output out3 --json",
    "log compact PATH --output out4",
    *(f"whatif --to v1 PATH{more}" for more in ("", " --json", " --html page.html")),
]
SPECS = [
    *(f"validate PATH{more}" for more in ("", " --json", " --output-format github")),
    *(f"{command} PATH" for command in ("fmt --check", "fmt --diff", "lint", "collide")),
    "breaking PATH --against PATH",
    "lock PATH --file l.json",
]


def with_path(words: str, path: Path) -> list[object]:
    return [path if word == "PATH" else word for word in words.split()]


def check(result: Result) -> None:
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert not [each for each in OBEYED if each in result.output]
    assert not [line for line in result.output.splitlines() if line.startswith("specs/x.json")]


@pytest.fixture(params=["controls", "bytes"])
def name(request: pytest.FixtureRequest) -> str:
    return NAME if request.param == "controls" else os.fsdecode(b"b\xff-0")


@pytest.mark.parametrize("words", LOG)
def test_logs(words: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / name.replace("/", "_")
    folder.mkdir()
    shutil.copy(next((DATA / "sample_log").rglob("*.log")), folder / "00000000000000000000.log")
    (folder / "00000000000000000000.index").write_bytes(b"\xff" * 8)
    result = tagwire_result(*with_path(words, folder))
    check(result)
    assert result.output
    if "--html" in words:
        page = Path("page.html").read_text(encoding="utf-8")
        assert not [each for each in OBEYED if each in page]


def test_json_has_the_name_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / NAME.replace("/", "_")
    shutil.copytree(next((DATA / "sample_log").glob("orders-0")), folder)
    rows = [json.loads(line) for line in tagwire_result(*with_path("log stat PATH --json", folder)).stdout.splitlines()]
    assert rows and all(row["file"].startswith(str(folder)) for row in rows)


@pytest.mark.parametrize("words", ["", "--json", "--json --start-offset 0 --count 1", "--template {headers}"])
def test_headers_of_records(words: str, tmp_path: Path) -> None:
    write_segment(tmp_path / "orders-0", build([Record(0, 0, b"k", b"v", ((NAME, b"x"),))]))
    result = tagwire_result("log", "dump", *words.split(), tmp_path / "orders-0")
    check(result)
    if "--json" in words:
        assert json.loads(result.stdout)["headers"] == [[NAME, "eA=="]]


@pytest.mark.parametrize("words", SPECS)
@pytest.mark.parametrize("text", ['{"type": "data", "name": 3}', '{"type": "data", "name": "X\\u009b\\u202e"}', "{"])
def test_specs(words: str, text: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / name.replace("/", "_")
    folder.mkdir()
    (folder / "X.json").write_text(text)
    check(tagwire_result(*with_path(words, folder)))


def test_all_output_is_escaped() -> None:
    files = [path for path in CLI.rglob("*.py") if "click.echo(" in path.read_text(encoding="utf-8")]
    assert sorted(path.name for path in files) == ["echo.py", "tables.py"], "use tagwire_cli.output.echo.say"


@pytest.mark.parametrize("character", ["\x1b", "\x9b", "\x7f", "\u202e", "\u2066", "\u200b", "\udcff", "\U000e0041"])
def test_unprintable_characters_are_escaped(character: str) -> None:
    assert printable(f"a{character}é日").isprintable()
    assert json.loads(printable_json(json.dumps([character], ensure_ascii=False))) == [character]
    assert printable("é 日 ok") == "é 日 ok"
