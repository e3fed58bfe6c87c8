"""Call a fuzz target in another process, which is killed if a call takes too long.

A function that hangs, for example in native code, can't be interrupted in the process that called it. One process
serves all calls until it is killed or crashes; the next call then starts another process.
"""

from __future__ import annotations

import importlib
import multiprocessing
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tagwire.errors import TagwireError
from tagwire_workbench.fuzzing.minimise import raised

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess


class TargetError(TagwireError, ValueError):
    """Raised if the target can't be imported, or is not a function."""


class TargetProcess:
    """Calls the function `name` of a module, found as from the current folder, in another process.

    `close` ends the process. Raises TargetError if there is no such function.
    """

    def __init__(self, module: str, name: str, timeout: float) -> None:
        self._target = module, name
        self._timeout = timeout
        self._start()

    def failure(self, data: bytes) -> object:
        """Call the function. Return None if it returns; otherwise, a value that is equal for equal failures.

        Failures are exceptions, calls that take longer than the timeout, and calls that end their process.
        """
        if self._process.exitcode is not None:
            self._start()
        try:
            self._pipe.send_bytes(data)
            if self._pipe.poll(self._timeout):
                return self._pipe.recv()
        except (EOFError, OSError):  # the process has ended, or is about to end
            self._process.join(self._timeout)
            self.close()
            return "exit status", self._process.exitcode
        self.close()
        return "timeout"

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # forked copies of threads and locks could block the target
        self._pipe, served = context.Pipe()
        self._process: SpawnProcess = context.Process(target=_serve, args=(served, *self._target))
        self._process.start()
        served.close()  # so that the pipe ends when the process does
        try:
            problem = self._pipe.recv()
        except EOFError:
            self._process.join()
            problem = f"can't be imported: the process ended with exit status {self._process.exitcode}"
        if problem is not None:
            self.close()
            raise TargetError(f"{':'.join(self._target)!r} {problem}")

    def close(self) -> None:
        self._pipe.close()
        self._process.kill()
        self._process.join()


def _serve(pipe: Connection, module: str, name: str) -> None:
    """Import the function, send what is wrong with it or None, and answer each input with its failure or None."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C, and then kills this process
    sys.stdout = sys.stderr  # standard output is only for results
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:
        pipe.send(f"can't be imported: {type(error).__name__}: {error}")
        return
    if not callable(function):
        pipe.send("is not a function")
        return
    pipe.send(None)
    with suppress(EOFError):  # raised if the other process has closed the pipe
        while True:
            pipe.send(raised(function, pipe.recv_bytes()))
