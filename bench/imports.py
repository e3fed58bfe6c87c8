"""Measure how long imports take, as the median CPU time of many new processes.

The clock starts after the interpreter has started. Each process runs with `-I -S`, so that startup files import no
modules. The first run is discarded because it compiles the modules.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, Final

from report import aligned

__all__ = ["ImportRow", "measure_imports"]

ImportRow = dict[str, Any]
"""One result: a dict with the keys `library`, `step`, `milliseconds` and `modules` (how many modules were loaded)."""

_STEPS: Final = {
    "tagwire": (
        ("the package", "import tagwire, tagwire_messages"),
        ("one message", "tagwire_messages.MetadataResponse"),
        ("what decodes it", "tagwire_messages.MetadataResponse.serializer(12)"),
    ),
    "tagwire, pure": (
        ("the package", "import tagwire, tagwire_messages"),
        ("one message", "tagwire_messages.MetadataResponse"),
        ("what decodes it", "tagwire_messages.MetadataResponse.serializer(12)"),
    ),
    "kio": (
        ("the package", "from kio.serial import entity_reader, entity_writer"),
        (
            "one message, ready to decode",
            "from kio.schema.metadata.v12.response import MetadataResponse; entity_reader(MetadataResponse)",
        ),
    ),
    "kafka-python": (
        ("the package with all messages", "from kafka.protocol.metadata import MetadataResponse"),
        ("one message, ready to decode", "MetadataResponse.decode(MetadataResponse(version=12).encode(), version=12)"),
    ),
    "aiokafka": (("the package with all messages", "from aiokafka.protocol.metadata import MetadataResponse_v5"),),
}
_PACKAGES: Final = ("tagwire", "tagwire_messages", "kio", "kafka", "aiokafka")

_CHILD: Final = """
import os, sys
from time import thread_time
sys.path[:0] = sys.argv[1].split(os.pathsep)
for step in sys.argv[2:]:
    code, before, start = compile(step, "step", "exec"), len(sys.modules), thread_time()
    exec(code)
    print(thread_time() - start, len(sys.modules) - before)
"""
"""A script that measures the import steps.

It first imports the modules that Python loads at startup, so that no step counts them.
"""


def measure_imports(*, processes: int, progress: Callable[[str], None]) -> list[ImportRow]:
    """Return a row for each import step of each library, with its median CPU time and its number of loaded modules."""
    folders = _folders(_PACKAGES)
    runs: dict[str, list[list[tuple[float, int]]]] = {library: [] for library in _STEPS}
    with tempfile.TemporaryDirectory() as cache:
        for number in range(processes + 1):
            progress(f"imports: process {number} of {processes}")
            for library, steps in _STEPS.items():
                run = _run(folders, [step for _, step in steps], cache, pure=library == "tagwire, pure")
                if number:
                    runs[library].append(run)
    return [
        {
            "library": library,
            "step": step,
            "milliseconds": median(run[index][0] for run in runs[library]) * 1e3,
            "modules": runs[library][0][index][1],
        }
        for library, steps in _STEPS.items()
        for index, (step, _) in enumerate(steps)
    ]


def _folders(packages: Iterable[str]) -> list[str]:
    found = {str(Path(str(import_module(name).__file__)).parents[1]) for name in packages}
    return sorted(found, key=sys.path.index)


def _run(folders: list[str], steps: list[str], cache: str, *, pure: bool) -> list[tuple[float, int]]:
    """Run Python statements, such as imports, in a new process. Return (CPU seconds, module count) for each."""
    options = ["-I", "-S", "-X", f"pycache_prefix={cache}"]
    command = [sys.executable, *options, "-c", _CHILD, os.pathsep.join(folders), *steps]
    environment = dict(os.environ) | ({"TAGWIRE_ENGINE": "python"} if pure else {})
    lines = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.splitlines()
    return [(float(seconds), int(modules)) for seconds, modules in map(str.split, lines)]


if __name__ == "__main__":
    found = measure_imports(processes=21, progress=lambda step: print(step, file=sys.stderr, flush=True))
    rows = [(row["library"], row["step"], f"{row['milliseconds']:.1f}", str(row["modules"])) for row in found]
    print(aligned([("library", "step", "ms", "modules"), *rows]))
