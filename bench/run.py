"""Compare the CPU times of tagwire and other libraries. `make bench` takes a few minutes.

`--quick` only checks that everything works; its numbers are meaningless. docs/benchmarks.md explains the table.
"""

import argparse
import platform
import sys
from typing import Final

import report
import speed
from library import Library
from ours import PureTagwire, Tagwire
from peer_aiokafka import AioKafka
from peer_kafka_python import KafkaPython
from peer_kio import Kio
from peer_msgspec import Msgspec
from peer_protobuf import Protobuf

import tagwire

_LIBRARIES: Final = (Tagwire, PureTagwire, Kio, KafkaPython, AioKafka, Msgspec, Protobuf)


def main(arguments: list[str]) -> int:
    """Measure all libraries, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="run only a few rounds, to check that everything works")
    rounds, seconds = (3, 0.001) if parser.parse_args(arguments).quick else (21, 0.04)
    libraries: list[Library] = [library() for library in _LIBRARIES]
    rows = speed.measure_speed(libraries, rounds=rounds, seconds=seconds, progress=_progress)
    versions = ", ".join(f"{library.name} {library.installed}" for library in libraries)
    print(f"CPython {platform.python_version()}, {tagwire.engine()} engine: {versions}\n")
    print(report.aligned(report.speed_table(rows)))
    return 0


def _progress(step: str) -> None:
    print(step, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
