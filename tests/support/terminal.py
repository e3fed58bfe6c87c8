"""Run `tagwire` commands in a pseudoterminal, to check what a user would see."""

import os
import pty
import re
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

_UNSET = {"COLUMNS", "FORCE_COLOR", "NO_COLOR", "TERM"}
_COMMAND = [sys.executable, "-m", "tagwire_cli"]


def _environment(**changes: str) -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in _UNSET} | {"TERM": "xterm-256color"} | changes


def on_terminal(*words: str, stdin: bytes = b"", stdout: Path | None = None, **environment: str) -> tuple[int, str]:
    """Run a command. Return its exit code and what it prints on the terminal.

    If `stdout` is given, standard output goes to this file.
    """
    master, slave = pty.openpty()
    env = _environment(**{"COLUMNS": "200"} | environment)
    out = slave if stdout is None else os.open(stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    process = subprocess.Popen([*_COMMAND, *words], stdin=subprocess.PIPE, stdout=out, stderr=slave, env=env)
    for descriptor in {slave, out}:
        os.close(descriptor)
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin:  # a command may end before it reads its input
        process.stdin.write(stdin)
    seen = _read_to_end(master)
    os.close(master)
    return process.wait(), seen.decode().replace("\r\n", "\n")


def at_terminal(*words: str, seen: str, keys: bytes, ending: int = 0, **environment: str) -> tuple[int, str]:
    """Run a command on a terminal. When `seen` appears, send `keys` and a signal. Return exit code and output."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    env = _environment(**environment)
    process = subprocess.Popen([*_COMMAND, *words], stdin=slave, stdout=slave, stderr=slave, env=env)
    os.close(slave)
    shown = b""
    while seen.encode() not in shown and (more := _some(master)):
        shown += more
    os.write(master, keys)
    process.send_signal(ending)
    shown += _read_to_end(master)
    os.close(master)
    return process.wait(), shown.decode(errors="replace")


def _read_to_end(master: int) -> bytes:
    seen = b""
    while more := _some(master):
        seen += more
    return seen


def _some(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # the other end is closed
        return b""


def screen(text: str) -> str:
    """Return the lines that a terminal shows above the cursor after it prints `text`. Erased lines are left out."""
    rows, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", text):
        if part == "\n":
            row, column = row + 1, 0
            rows += [""] * (row == len(rows))
        elif part == "\r":
            column = 0
        elif part == "\x1b[1A":
            row = max(row - 1, 0)
        elif part == "\x1b[2K":
            rows[row] = ""
        elif not part.startswith("\x1b"):
            rows[row] = rows[row][:column].ljust(column) + part + rows[row][column + len(part) :]
            column += len(part)
        else:
            assert part[-1] in "mhl", f"the terminal of the tests does not know {part!r}"
    return "\n".join(rows[: row + 1])
