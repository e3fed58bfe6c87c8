"""Java's own classes at the same work: a process that is asked for a round at a time.

It needs Java 17, and Maven, which brings the jars that `java/pom.xml` names
into build/bench-jars. Java measures its own thread's CPU time and stays warm
between the rounds; each round asks it and us in turn, so that both have the
same machine. `missing` says why there are no such rows.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import IO, Any, Final

from timing import interleaved, ratio

__all__ = ["Java", "java", "missing"]

_ROOT: Final = Path(__file__).parents[1]
_PROGRAMS: Final = Path(__file__).parent / "java"
_JARS: Final = _ROOT / "build" / "bench-jars"
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_WARM: Final = 2.0
"""Seconds of each work before the first round: what the JIT needs."""


def missing() -> str:
    """Why Java can't be measured here; "" where it can."""
    if shutil.which("java") is None:
        return "there is no java"
    if not _JARS.is_dir() and shutil.which("mvn") is None:
        return "there is no mvn to fetch the jar of kafka-clients"
    return ""


class Java:
    """A program that answers each line with a line."""

    def __init__(self, questions: IO[str], answers: IO[str]) -> None:
        self._questions = questions
        self._answers = answers

    def ask(self, question: str) -> str:
        """Its answer."""
        self._questions.write(question + "\n")
        self._questions.flush()
        answer = self._answers.readline().strip()
        if not answer:
            raise SystemExit(f"Java ended at {question[:60]!r}")
        return answer

    def beside(self, question: str, work: Callable[[], object], *, rounds: int, seconds: float) -> dict[str, Any]:
        """Microseconds of its work and of ours, and its time in units of ours, as a ratio."""
        self.ask(f"{question} {_WARM}")
        javas: list[float] = []
        mine: list[float] = []
        for _ in range(rounds):
            javas.append(float(self.ask(f"{question} {seconds}")) / 1e9)
            mine += interleaved({"tagwire": work}, rounds=1, seconds=seconds)["tagwire"]
        microseconds = {"tagwire": median(mine) * 1e6, "java": median(javas) * 1e6}
        return {"microseconds": microseconds, "ratio": list(ratio(javas, mine))}


@contextmanager
def java(program: str) -> Iterator[Java]:
    """The program of this name, running."""
    _fetch()
    command = ["java", "-XX:+UseSerialGC", "-Xmx1g", "-cp", f"{_JARS}/*", str(_PROGRAMS / f"{program}.java")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield Java(process.stdin, process.stdout)
        finally:
            process.stdin.close()
            process.wait(timeout=30)


def _fetch() -> None:
    if not _JARS.is_dir():
        command = ["mvn", "--quiet", "--batch-mode", _COPY, f"-DoutputDirectory={_JARS}"]
        subprocess.run([*command, "--file", str(_PROGRAMS)], check=True, stdin=subprocess.DEVNULL)
