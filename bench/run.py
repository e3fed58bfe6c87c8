"""Measure tagwire beside its peers. `make bench` runs this; `--write` makes docs/benchmarks.md from all results kept.

A run takes some minutes. `--only objects java` measures these parts alone, and `--write` then keeps the others of the
last run. `--quick` only shows that everything works; its figures mean nothing.
"""

import argparse
import json
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import columns
import imports
import java_process
import java_row
import memory
import objects
import records
import report
import speed
from library import Library
from ours import PureTagwire, Tagwire
from peer_aiokafka import AioKafka
from peer_kafka_python import KafkaPython
from peer_kio import Kio
from peer_msgspec import Msgspec
from peer_protobuf import Protobuf
from plot import draw

__all__ = ["main"]

_ROOT: Final = Path(__file__).parents[1]
_RESULTS: Final = Path(__file__).parent / "results"
_PARTS: Final = ("imports", "speed", "java", "records", "columns", "objects", "held", "worst")


def main(arguments: list[str]) -> int:
    """Measure, print, and write what was asked for."""
    options = _parser().parse_args(arguments)
    results = measure(options.only, quick=options.quick)
    print(json.dumps(results, indent=2) if options.json else report.text(results))
    if options.write:
        write(results)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--write", action="store_true", help="keep the results, and write docs/benchmarks.md")
    parser.add_argument("--only", nargs="+", choices=_PARTS, default=_PARTS, metavar="PART", help=", ".join(_PARTS))
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it works")
    return parser


def measure(parts: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """The results of one run, of these parts."""
    libraries: list[Library] = [Tagwire(), PureTagwire(), Kio(), KafkaPython(), AioKafka(), Msgspec(), Protobuf()]
    rounds, seconds, processes, size, count = (3, 0.001, 2, 5_000, 2_000) if quick else (21, 0.04, 21, 200_000, 100_000)
    found: dict[str, Callable[[], Any]] = {
        "imports": lambda: imports.measure_imports(processes=processes, progress=_progress),
        "speed": lambda: speed.measure_speed(libraries, rounds=rounds, seconds=seconds, progress=_progress),
        "java": lambda: _java(rounds=rounds, seconds=seconds),
        "records": lambda: records.measure_records(rounds=rounds, seconds=seconds, progress=_progress),
        "columns": lambda: columns.measure_columns(rounds=min(rounds, 9), count=count, progress=_progress),
        "objects": lambda: objects.measure_objects(rounds=rounds, seconds=seconds, progress=_progress),
        "held": lambda: memory.held(libraries),
        "worst": lambda: memory.worst_inputs(size=size, number=8, progress=_progress),
    }
    return {
        "python": platform.python_version(),
        "engine": import_module("tagwire").engine(),
        "optimised_build": "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or ""),
        "libraries": {library.name: library.installed for library in libraries},
        "rounds": rounds,
        **{part: found[part]() for part in _PARTS if part in parts},
    }


def _java(*, rounds: int, seconds: float) -> list[dict[str, Any]] | str:
    """The rows of Java's own classes, or why there are none."""
    reason = java_process.missing()
    if reason:
        return reason
    return java_row.measure_java(Tagwire().contenders(), rounds=rounds, seconds=seconds, progress=_progress)


def write(results: dict[str, Any]) -> None:
    """Keep the results of this interpreter's release, and write the page from those of all."""
    _RESULTS.mkdir(exist_ok=True)
    release = ".".join(results["python"].split(".")[:2])
    kept = _RESULTS / f"python-{release}.json"
    results["measured"] = dict.fromkeys((part for part in _PARTS if part in results), _now())
    if kept.exists():  # parts that were not measured stay
        before = json.loads(kept.read_text(encoding="utf-8"))
        results = before | results | {"measured": before.get("measured", {}) | results["measured"]}
    kept.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(_RESULTS.glob("*.json"))]
    (_ROOT / "docs" / "benchmarks.md").write_text(report.markdown(runs), encoding="utf-8")
    draw(runs[-1], _ROOT / "docs" / "benchmarks.svg")


def _now() -> str:
    """The day and the commit."""
    told = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=_ROOT, capture_output=True, text=True)
    return f"{datetime.now(UTC):%Y-%m-%d}" + f", commit {told.stdout.strip()}" * (told.returncode == 0)


def _progress(step: str) -> None:
    end = "" if sys.stderr.isatty() else "\n"
    print(f"\r\033[K{step}" if sys.stderr.isatty() else step, end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
