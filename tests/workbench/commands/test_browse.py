import signal
from pathlib import Path

import pytest
from command import tagwire_result
from terminal import at_terminal

CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"
SAMPLE_LOG = Path(__file__).parents[2] / "data" / "sample_log"


@pytest.mark.parametrize(("ending", "color"), [(0, ""), (0, "1"), (signal.SIGTERM, ""), (signal.SIGHUP, "")])
def test_it_leaves_the_terminal_clean(ending: int, color: str) -> None:
    words, keys = ("browse", str(CAPTURES), "--where", "api=CreateTopics"), b"" if ending else b"q"
    status, shown = at_terminal(*words, seen="filter api=CreateTopics", keys=keys, ending=ending, NO_COLOR=color)
    assert status == (128 + ending if ending else 0)
    assert "captures.jsonl.gz  " in shown
    assert "\x1b[?1049l" in shown  # the escape sequence that leaves the alternate screen


def test_another_package_is_browsed() -> None:
    words = ["browse", str(SAMPLE_LOG), "--package", "tagwire_drafts.kip482", "--where", "offset=7"]
    status, shown = at_terminal(*words, seen="2 of 12 batches", keys=b"q")
    assert (status, "orders-1" in shown) == (0, True)


@pytest.mark.parametrize(
    ("path", "instead"), [(CAPTURES, "tagwire explain --capture"), (SAMPLE_LOG, "tagwire log dump")]
)
def test_other_commands_are_suggested_without_a_terminal(path: Path, instead: str) -> None:
    done = tagwire_result("browse", path)
    assert done.exit_code == 2
    assert f"browse needs a terminal; `{instead} {path}` prints to a file or a pipe." in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("--where", "apis=Fetch"), 2, "unknown filter 'apis'; did you mean 'api'?"),
        (("--package", "nothing"), 2, "can't be imported"),
        (("--port", "0"), 2, "0 is not in the range"),
        (("--port", "65536"), 2, "65536 is not in the range"),
    ],
)
def test_wrong_usage_in_a_terminal(words: tuple[str, ...], status: int, message: str) -> None:
    code, shown = at_terminal("browse", str(CAPTURES), *words, seen="Error", keys=b"q")
    assert (code, message in " ".join(shown.split())) == (status, True)


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\xff\xff odd")
    code, shown = at_terminal("browse", str(tmp_path / "a.bin"), seen="tagwire", keys=b"q")
    assert (code, "begins with ff ff 20" in " ".join(shown.split())) == (1, True)
