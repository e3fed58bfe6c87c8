"""Logs beside Kafka's own tool: `tagwire log dump --json` and `DumpLogSegments --print-data-log`, on the same file.

    python bench/logs.py [--jars FOLDER] [--rounds N]

The file has uncompressed v2 batches of 16 KiB, with keys of 10 and values of 100 bytes, and is in the page cache. Both
write to a file, which is what people do with a dump; it is in memory where there is /dev/shm, so that no disk is
measured. Whole processes are measured on one core, one after the other in turns: their time by the clock, and by the
processor. Two sizes give two figures: what a process costs from its start to its end, and what a record costs once it
runs (the difference of the sizes), where neither starting nor compiling counts any more.
The folder has the jars of kafka_2.13, as `TAGWIRE_BROKER_JARS` of the tests has.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

from tagwire.records import BatchBuilder

__all__ = ["Cost", "Row", "measure", "write_log"]

BATCH = 16 << 10
SIZES = (16 << 20, 64 << 20)
_MEMORY = "/dev/shm"


class Cost(NamedTuple):
    """Seconds."""

    clock: float
    processor: float


class Row(NamedTuple):
    """A tool: what the larger file costs, and each of its records at steady state, in microseconds."""

    tool: str
    whole: Cost
    record: Cost


def write_log(path: Path, size: int) -> int:
    """A segment of so many bytes; how many records it has."""
    random = Random(1)
    offset = written = 0
    with path.open("wb") as file:
        while written < size:
            builder, bytes_ = BatchBuilder("v2", base_offset=offset), 61
            while bytes_ < BATCH - 120:
                key, value = b"key-%06d" % random.randrange(100_000), random.randbytes(50).hex().encode()
                builder.append(key, value, timestamp=1_700_000_000_000 + offset)
                offset, bytes_ = offset + 1, bytes_ + 118
            written += file.write(builder.build().encode())
    return offset


def cost(command: Sequence[str], output: Path) -> Cost:
    """Run a command to its end; its output goes to a file, and compiled modules beside it, as for users."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables["PYTHONPYCACHEPREFIX"] = str(output.with_name("compiled"))
    with output.open("wb") as file:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=file, env=variables)
        _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, command
    return Cost(time.perf_counter() - begun, usage.ru_utime + usage.ru_stime)


def measure(jars: str, rounds: int) -> list[Row]:
    """Both tools, in turns."""
    tools = {
        "tagwire log dump --json": [sys.executable, "-m", "tagwire_cli", "log", "dump", "--json"],
        "DumpLogSegments": ["java", "-cp", f"{jars}/*", "kafka.tools.DumpLogSegments", "--print-data-log", "--files"],
    }
    found: dict[tuple[str, int], list[Cost]] = {(tool, size): [] for tool in tools for size in SIZES}
    with tempfile.TemporaryDirectory(dir=_MEMORY if Path(_MEMORY).is_dir() else None) as folder:
        paths = {size: Path(folder, str(size), "00000000000000000000.log") for size in SIZES}
        for path in paths.values():
            path.parent.mkdir()
        records = {size: write_log(path, size) for size, path in paths.items()}
        for tool in tools:  # once before it counts: Python's modules get compiled, and Java's come into the page cache
            cost([*tools[tool], str(paths[SIZES[0]])], Path(folder, "out"))
        for _ in range(rounds):
            for (tool, size), costs in found.items():
                costs.append(cost([*tools[tool], str(paths[size])], Path(folder, "out")))
    small, large = SIZES
    rows = []
    for tool in tools:
        less, more = (Cost(*map(median, zip(*found[tool, size], strict=True))) for size in (small, large))
        more_records = (records[large] - records[small]) / 1e6
        rows.append(Row(tool, more, Cost(*((b - a) / more_records for a, b in zip(less, more, strict=True)))))
    return rows


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jars", default=os.environ.get("TAGWIRE_BROKER_JARS"))
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if not arguments.jars:
        parser.error("name the folder of Kafka's jars: --jars, or TAGWIRE_BROKER_JARS")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # which processes inherit
    rows = measure(arguments.jars, arguments.rounds)
    print(f"{'':24} {'whole, s':>10} {'of CPU':>8} {'record, us':>11} {'of CPU':>8}")
    for tool, whole, record in rows:
        print(f"{tool:24} {whole.clock:10.2f} {whole.processor:8.2f} {record.clock:11.2f} {record.processor:8.2f}")
    ours, theirs = ([*row.whole, *row.record] for row in rows)
    ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
    print(f"{'as many times as much':24} {ratios[0]:10.1f} {ratios[1]:8.1f} {ratios[2]:11.1f} {ratios[3]:8.1f}")


if __name__ == "__main__":
    main()
