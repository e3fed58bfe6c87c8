import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from terminal import on_terminal, screen

from tagwire.records import Record, build

pytestmark = pytest.mark.thorough

COMMANDS = {
    "dump": ["dump"],
    "stat": ["stat"],
    "verify": ["verify"],
    "verify as json": ["verify", "--json"],
    "salvage": ["salvage", "--output", "to"],
    "salvage as json": ["salvage", "--json", "--output", "to"],
    "compact": ["compact", "--now", "0", "--output", "to"],
    "compact, explained": ["compact", "--explain", "--now", "0", "--output", "to"],
    "compact, explained as json": ["compact", "--explain", "--json", "--now", "0", "--output", "to"],
    "convert": ["convert", "--to", "v1", "--output", "to"],
    "convert as json": ["convert", "--json", "--to", "v1", "--output", "to"],
}
LINES_ALL_ALONG = {"dump", "compact, explained", "compact, explained as json"}
REJECT_DAMAGE = ("compact", "convert", "dump", "stat")
BAR = "\x1b[?25l"
"""The start of a progress bar: the escape sequence that hides the cursor."""
each_command = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture
def words(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Create three partitions, and return a command line that reads them.

    The partitions are damaged, unless the command rejects damaged logs.
    """
    monkeypatch.chdir(tmp_path)
    command = COMMANDS[name]
    for partition in range(3):
        folder = Path(f"logs/stock-{partition}")
        folder.mkdir(parents=True)
        for base in (0, 40):
            batches = [build([Record(base + n, 7, b"k%d" % n, b"v" * 50)], "v2").encode() for n in range(40)]
            if command[0] not in REJECT_DAMAGE:
                batches[partition] = batches[partition][:-1] + b"?"
            (folder / f"{base:020}.log").write_bytes(b"".join(batches))
    return ["log", command[0], "logs", *command[1:]]


def away_from_terminals(words: list[str], stderr: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tagwire_cli", *words]
    found = subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False)
    if Path("to").exists():
        Path("to").rename("before")  # a second run must not find the output of the first run
    return found


@each_command
def test_one_terminal_for_lines_and_bar(name: str, words: list[str]) -> None:
    expected = away_from_terminals(words, subprocess.STDOUT)
    code, seen = on_terminal(*words, NO_COLOR="1")
    assert (code, screen(seen)) == (expected.returncode, expected.stdout)
    assert (BAR in seen) == (name not in LINES_ALL_ALONG)


@each_command
def test_standard_output_elsewhere(name: str, words: list[str]) -> None:
    expected = away_from_terminals(words)
    code, seen = on_terminal(*words, stdout=Path("out"))
    assert (code, Path("out").read_text()) == (expected.returncode, expected.stdout)
    assert screen(seen) == expected.stderr and BAR in seen and f"{words[1]} " in seen


@pytest.mark.parametrize("name", ["stat"])
def test_a_bar_is_not_drawn_for_every_batch(words: list[str]) -> None:
    """Check that not every batch redraws the progress bar: redrawing takes longer than reading a small batch."""
    _, seen = on_terminal(*words, stdout=Path("out"))
    assert seen.count("stat ") < 3 * 2 * 40


@pytest.mark.parametrize("name", ["stat", "salvage"])
@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TTY_INTERACTIVE": "0"}])
def test_terminal_that_can_not_erase_shows_no_progress(words: list[str], environment: dict[str, Any]) -> None:
    expected = away_from_terminals(words)
    code, seen = on_terminal(*words, stdout=Path("out"), **environment)
    assert (code, seen) == (expected.returncode, expected.stderr)


@pytest.mark.parametrize("name", ["stat"])
@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams(words: list[str], closed: str) -> None:
    command = " ".join([sys.executable, "-m", "tagwire_cli", *words, closed])
    found = away_from_terminals(words)
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (found.returncode, "")


@pytest.mark.parametrize("name", ["verify"])
def test_a_segment_alone_has_progress(words: list[str]) -> None:
    _, seen = on_terminal("log", "verify", f"logs/stock-0/{0:020}.log")
    assert f"{BAR}verify " in re.sub(r"[\r\n]|\x1b\[2K", "", seen)
