"""Compare the speed of two commits, or of a commit and the working tree.

`make bench-compare BASE=main` compares the working tree with main; `HEAD=commit` compares that commit instead.

Each side is built and installed into its own folder in build/bench, with its own generated classes, and runs in several
processes of its own, because times differ by up to 12 % from one process to another. Every round runs the same work on
both sides, in alternating order. Each ratio compares times from one round, because the computer's load varies. Both
sides use the benchmark code of this checkout.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from library import VERSIONS
from report import Table, aligned, time_text
from speed import operations
from timing import ratio

__all__ = ["main"]

_ROOT: Final = Path(__file__).parents[1]
_BUILT: Final = _ROOT / "build" / "bench"

_PROCESSES: Final = 5
"""The number of processes of each side."""

Worker = subprocess.Popen[str]


def main(arguments: list[str]) -> int:
    """Build and measure `base` and `head`, and print a table."""
    options = _parser().parse_args(arguments)
    rounds, seconds = (3, 0.001) if options.quick else (options.rounds, 0.04)
    base, head = (_installed(revision) for revision in (options.base, options.head))
    table: Table = [("message", "call", options.base, options.head or "working tree", "base / head")]
    with ExitStack() as stack:
        workers = [[stack.enter_context(_worker(folder)) for folder in (base, head)] for _ in range(_PROCESSES)]
        for message, version in VERSIONS.items():
            for operation in operations(message):
                question = f"{message}\t{operation}\t{seconds}"
                table.append((f"{message} v{version}", operation, *_compared(workers, question, rounds)))
    print(aligned(table))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("head", nargs="?", default="", help="the commit to compare (default: the working tree)")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--quick", action="store_true", help="run only a few rounds, to check that everything works")
    return parser


def _installed(revision: str) -> Path:
    """Install a commit, or the working tree if `revision` is "". Return the installation's folder."""
    release = f"{sys.version_info.major}.{sys.version_info.minor}"
    if not revision:
        target = _BUILT / f"working-tree-{release}"
        _install(_ROOT, target)
        return target
    commit = _git("rev-parse", "--verify", f"{revision}^{{commit}}")
    target = _BUILT / f"{commit}-{release}"
    if not target.is_dir():
        source = _BUILT / f"{commit}-source"
        source.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(["git", "archive", commit], cwd=_ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(source)], input=archive, check=True)
        _install(source, target)
    return target


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {found.stderr.strip()}")
    return found.stdout.strip()


def _install(source: Path, target: Path) -> None:
    """Build and install the source tree with the native engine.

    Both sides use the pinned requirements of this checkout.
    """
    print(f"installing {source} into {target}", file=sys.stderr, flush=True)
    pins = str(_ROOT / "constraints.txt")
    environment = {**os.environ, "TAGWIRE_BUILD": "require", "PIP_CONSTRAINT": pins, "PIP_BUILD_CONSTRAINT": pins}
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", str(target)]
    subprocess.run([*command, str(source)], check=True, env=environment)


@contextmanager
def _worker(folder: Path) -> Iterator[Worker]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "TAGWIRE_ENGINE": "native"}
    command = [sys.executable, str(Path(__file__).parent / "worker.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()


def _compared(workers: list[list[Worker]], question: str, rounds: int) -> tuple[str, str, str]:
    """Return the times of base and head, and their ratio, as text. If a side fails, its error replaces the ratio."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds):
        for side in (0, 1) if turn % 2 else (1, 0):
            answer = _ask(workers[turn % len(workers)][side], question)
            if answer.startswith("not there"):
                return ("", "", f"{'head' if side else 'base'}: {answer}")
            times[side].append(float(answer))
    base, head = (time_text(median(figures) * 1e6) for figures in times)
    return base, head, str(ratio(*times))


def _ask(worker: Worker, question: str) -> str:
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(question + "\n")
    worker.stdin.flush()
    answer = worker.stdout.readline().strip()
    if not answer:
        raise SystemExit(f"a benchmark process ended during the measurement {question!r}")
    return answer


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
