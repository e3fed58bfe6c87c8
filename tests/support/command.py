"""Run `tagwire` commands, in this process or in a separate process."""

import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

from click.testing import CliRunner, Result

from tagwire_cli.app import app

__all__ = ["rejected", "tagwire_outcome", "tagwire_process", "tagwire_result"]


def tagwire_result(*words: object, stdin: str | bytes | None = None, code: int | None = None) -> Result:
    result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    assert code is None or result.exit_code == code, result.output
    return result


def rejected(result: Result, *texts: str, code: int, stdout: str = "") -> None:
    """Check that a command ended with this exit status and this output, and that its errors contain all texts."""
    assert (result.exit_code, result.stdout) == (code, stdout), result.output
    assert all(text in result.stderr for text in texts) and "Traceback" not in result.stderr, result.stderr


def tagwire_outcome(*words: object, stdin: str | bytes | None = None) -> tuple[int, str, str]:
    result = tagwire_result(*words, stdin=stdin)
    return result.exit_code, result.stdout, result.stderr


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
