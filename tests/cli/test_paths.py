import os
import sys
from pathlib import Path

import click
import pytest
from command import tagwire_outcome
from command_paths import COMMAND_PATHS, command_of

from tagwire_cli.paths import UnreadableFileError

NOT_A_FILE = "is neither a file nor a directory; to read a pipe, use `-`"


@pytest.mark.parametrize(
    "words", [["fmt"], ["log", "dump"], ["log", "compact", "--output", "out"], ["whatif", "--to", "v1"]]
)
def test_pipes_and_devices_are_not_files(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = tagwire_outcome(*words, os.devnull)
    assert (code, out) == (2, "") and NOT_A_FILE in err


def test_names_of_devices_and_of_nothing() -> None:
    assert "there is no message ''" in tagwire_outcome("explain", "", "12", "file")[2]
    assert f"{os.devnull} is neither a file nor a directory\n" in tagwire_outcome("add-version", os.devnull)[2]
    assert f"{os.devnull}: this is not a folder of specs\n" in tagwire_outcome("export", "--kafka", os.devnull)[2]
    assert f"{os.devnull}:1:1: error TW103: the file is empty" in tagwire_outcome("validate", os.devnull)[1]


@pytest.mark.parametrize("path", COMMAND_PATHS)
def test_no_command_takes_an_empty_path_for_the_current_folder(path: str) -> None:
    command = command_of(path)
    for param in command.params:
        if isinstance(param.type, click.Path) or (param.metavar or "").strip("[].2") in ("FILE", "DIR", "JAR"):
            with pytest.raises((click.BadParameter, UnreadableFileError), match="the path is empty; give a file or a"):
                param.type.convert("", param, click.Context(command))


OF_LOGS = ["log convert logs --to v2 --output", "log salvage logs --output", "whatif logs --to v1 --html", "redact"]
OF_SPECS = ["lock specs --file", "export --kafka --output", "generate --output", "generate --templates", "init pings"]
OF_SPARK = ["spark convert logs --output", "spark convert logs --output s3://b/logs --work-folder", "spark audit"]


@pytest.mark.parametrize("words", [*OF_LOGS, *OF_SPECS, *OF_SPARK, "get MetadataRequest 12 topics --file"])
def test_an_option_with_an_empty_path(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("logs", "specs"):
        Path(name).mkdir()
    code, out, err = tagwire_outcome(*words.split(), "")
    name = words.split()[-1]
    assert (code, out) == (2, "") and "the path is empty; give a file or a directory" in err
    assert not name.startswith("--") or f"'{name}'" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "specs"]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="paths are text there")
@pytest.mark.parametrize("words", ["convert v2", "decode MetadataRequest 12", "explain", "browse", "mock serve"])
def test_a_missing_path_that_is_not_text(words: str) -> None:
    code, out, err = tagwire_outcome(*words.split(), os.fsdecode(b"bad\xff"))
    assert (code, out) == (2, "") and "bad" in err


@pytest.mark.parametrize("words", ["fmt", "validate", "log dump", "lint", "browse"])
def test_a_folder_without_permission(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    code, out, err = tagwire_outcome(*words.split(), tmp_path)
    assert (code, out, err) == (2, "", f"tagwire: {tmp_path} can't be read: Permission denied\n")
