"""Run `tagwire` commands, in this process or in a separate process."""

import json
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from click.testing import CliRunner, Result

from tagwire_cli.app import app


def tagwire_result(*words: object, stdin: str | bytes | None = None, code: int | None = None) -> Result:
    result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    assert code is None or result.exit_code == code, result.output
    return result


def tagwire_output(*words: object, stdin: str | bytes | None = None, code: int = 0) -> str:
    """Check that a command ends with this exit status. Return everything that it prints."""
    return tagwire_result(*words, stdin=stdin, code=code).output


def rejected(result: Result, *texts: str, code: int, stdout: str = "") -> None:
    """Check that a command ended with this exit status and this output, and that its errors contain all texts."""
    assert (result.exit_code, result.stdout) == (code, stdout), result.output
    assert all(text in result.stderr for text in texts) and "Traceback" not in result.stderr, result.stderr


def tagwire_outcome(*words: object, stdin: str | bytes | None = None) -> tuple[int, str, str]:
    result = tagwire_result(*words, stdin=stdin)
    return result.exit_code, result.stdout, result.stderr


def tagwire_rows(*words: object) -> list[dict[str, Any]]:
    """Check that a command with `--json` succeeds without messages. Return the values that it prints, one per line."""
    result = tagwire_result(*words, "--json", code=0)
    assert result.stderr == ""
    return [json.loads(line) for line in result.stdout.splitlines()]


@contextmanager
def tagwire_process(*words: object) -> Generator["subprocess.Popen[str]"]:
    """Run a command in a separate process. Kill it at the end of the `with` block, or after a minute."""
    command = [sys.executable, "-m", "tagwire", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(60, process.kill)
        guard.start()
        try:
            yield process
        finally:
            guard.cancel()
            process.kill()
