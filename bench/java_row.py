"""Java's own generated classes beside ours: the row that needs Java 17 and the jar of kafka-clients.

The jar comes from Maven into build/jars, as for `make archive`. Java measures
its own thread's CPU time in a process of its own, which stays warm between the
rounds; each round asks it and us in turn, so that both have the same machine.
`missing` says why there is no such row.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import IO, Any, Final

from library import VERSIONS, Contender
from timing import interleaved, ratio

__all__ = ["VERSION", "measure_java", "missing"]

VERSION: Final = "4.4.0"
_ROOT: Final = Path(__file__).parents[1]
_JAR: Final = _ROOT / "build" / "jars" / f"kafka-clients-{VERSION}.jar"
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_WARM: Final = 2.0
"""Seconds of each work before the first round: what the JIT needs."""

_Java = tuple[IO[str], IO[str]]
"""Where questions go, and where answers come from."""


def missing() -> str:
    """Why Java can't be measured here; "" where it can."""
    if shutil.which("java") is None:
        return "there is no java"
    if not _JAR.is_file() and shutil.which("mvn") is None:
        return f"there is no mvn to fetch kafka-clients {VERSION}"
    return ""


def measure_java(
    ours: Mapping[str, Contender], *, rounds: int, seconds: float, progress: Callable[[str], None]
) -> list[dict[str, Any]]:
    """A row for each message and each way: microseconds of both, and Java's time in units of ours, as a ratio."""
    _fetch()
    rows: list[dict[str, Any]] = []
    with _java() as java:
        for message, version in VERSIONS.items():
            contender = ours[message]
            value = contender.make()
            data = contender.encode(value)
            if _ask(java, f"load {message} {version} {data.hex()}") != "same":
                raise SystemExit(f"Java does not write back the {message} v{version} that it read")
            for operation, work in (
                ("decode", partial(contender.decode, data)),
                ("encode", partial(contender.encode, value)),
            ):
                progress(f"{message}: {operation}, Java")
                figures = _interleaved(java, f"{operation} {message}", work, rounds, seconds)
                rows.append({"message": message, "version": version, "operation": operation, **figures})
    return rows


def _interleaved(java: _Java, question: str, work: Callable[[], object], rounds: int, seconds: float) -> dict[str, Any]:
    _ask(java, f"{question} {_WARM}")
    javas: list[float] = []
    mine: list[float] = []
    for _ in range(rounds):
        javas.append(float(_ask(java, f"{question} {seconds}")) / 1e9)
        mine += interleaved({"tagwire": work}, rounds=1, seconds=seconds)["tagwire"]
    microseconds = {"tagwire": median(mine) * 1e6, "java": median(javas) * 1e6}
    return {"microseconds": microseconds, "ratio": list(ratio(javas, mine))}


def _fetch() -> None:
    if not _JAR.is_file():
        _JAR.parent.mkdir(parents=True, exist_ok=True)
        artifact = f"-Dartifact=org.apache.kafka:kafka-clients:{VERSION}"
        where = f"-DoutputDirectory={_JAR.parent}"
        subprocess.run(["mvn", "--quiet", "--batch-mode", _COPY, artifact, where], check=True, stdin=subprocess.DEVNULL)


@contextmanager
def _java() -> Iterator[_Java]:
    source = Path(__file__).parent / "java" / "KafkaMessages.java"
    command = ["java", "-XX:+UseSerialGC", "-Xmx1g", "-cp", str(_JAR), str(source)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield process.stdin, process.stdout
        finally:
            process.stdin.close()
            process.wait(timeout=30)


def _ask(java: _Java, question: str) -> str:
    questions, answers = java
    questions.write(question + "\n")
    questions.flush()
    answer = answers.readline().strip()
    if not answer:
        raise SystemExit(f"Java ended at {question[:60]!r}")
    return answer
