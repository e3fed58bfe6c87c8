import os
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_outcome

NOT_A_FILE = "is neither a file nor a directory; to read a pipe, use `-`"


@pytest.mark.parametrize(
    "words", [["fmt"], ["log", "dump"], ["log", "compact", "--output", "out"], ["whatif", "--to", "v1"]]
)
def test_pipes_and_devices_are_not_files(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = tagwire_outcome(*words, os.devnull)
    assert (code, out) == (2, "") and NOT_A_FILE in err


def test_spec_from_a_pipe_is_validated() -> None:
    code, out, _ = tagwire_outcome("validate", os.devnull)
    assert code == 1 and f"{os.devnull}:1:1: error TW103: the file is empty" in out


@pytest.mark.parametrize("words", [["validate"], ["log", "dump"], ["redact"], ["export", "--kafka"]])
def test_an_empty_path(words: list[Any]) -> None:
    code, out, err = tagwire_outcome(*words, "")
    assert (code, out) == (2, "") and "the path is empty; give a file or a directory" in err
