"""How planning grows with segments: `python bench/spark/growth.py`. Without Spark, in a process for each figure.

    python bench/spark/growth.py                     segments on this machine: a batch read, a stream's triggers, a job
    python bench/spark/growth.py --only remote       object storage, simulated: a listing, and latency of each request
    python bench/spark/growth.py --only job          `read_logs`: planned by the workers of a Spark session, two here
    python bench/spark/growth.py --segments 1000000  a million, which only a batch read and a job plan
    python bench/spark/growth.py --draw FILE         and the growth as a picture

A process does what Spark's process for planning does: it asks the source for its tasks, and pickles them. Its
peak has Python and PySpark, some 100 MB. What it reads is what the system counts (/proc, so Linux only),
which includes nothing of the page cache's doing. The clock shows what else the machine does; processor time
and bytes don't. A job starts Spark itself, and plans a partition first, so that no worker has to be started; its
processor time is that of all its processes, and its peak that of the driver's Python.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from broker_logs import append, make_broker

__all__ = ["main"]

_SEGMENT: Final = 1 << 30
_SIZES: Final = (200, 2_000, 20_000)
_KINDS: Final = ("batch", "stream", "job")
"""What is measured unless something else is asked for."""
_OF_PARTITION: Final = 20
_HOLES: Final = 100_000
"""From so many segments on they have no batches, and no stream reads them."""
_IDLE: Final = 5


class Cost(NamedTuple):
    """What a step of planning takes."""

    step: str
    wall: float
    """Seconds."""
    processor: float
    read: int
    """Bytes, and in how many calls; of object storage, requests."""
    calls: int
    tasks: int
    peak: int
    """Bytes of the process so far."""


def main() -> None:
    """Measure, and print a table."""
    options = _options()
    if options.child:
        print(json.dumps([*_STEPS[options.child](options.data, options)]))
        return
    options.data.mkdir(parents=True, exist_ok=True)
    points: dict[str, list[tuple[int, float, float]]] = {}
    print(f"{'segments':>9}  {'step':26}{'wall s':>8}{'cpu s':>8}{'us each':>9}{'read each':>11}{'calls each':>11}"
          f"{'tasks':>9}{'peak MB':>9}")  # fmt: skip
    for count in options.segments or _SIZES:
        for kind in options.only or [kind for kind in _KINDS if kind != "stream" or count < _HOLES]:
            of_rounds = [_child(kind, count, options) for _ in range(options.rounds)]
            for costs in zip(*of_rounds, strict=True):
                processor, peak = _print(count, costs)
                points.setdefault(costs[0].step, []).append((count, processor, peak / 1e6))
    if options.draw:
        from growth_plot import draw

        draw(points, options.draw)


def _print(count: int, costs: Sequence[Cost]) -> tuple[float, float]:
    """Print the medians of the rounds of a step; return processor time and peak."""
    wall, processor, read, calls, tasks, peak = (median(each) for each in [*zip(*costs, strict=True)][1:])
    print(f"{count:9}  {costs[0].step:26}{wall:8.2f}{processor:8.2f}{processor / count * 1e6:9.1f}{read / count:11.0f}"
          f"{calls / count:11.2f}{tasks:9.0f}{peak / 1e6:9.0f}", flush=True)  # fmt: skip
    return processor, peak


def _child(kind: str, count: int, options: Any) -> list[Cost]:
    """What a process of its own measures."""
    command = [sys.executable, __file__, "--child", kind, "--data", str(_data(kind, count, options))]
    command += ["--segments", str(count), "--latency", str(options.latency)]
    command += [f"--option={each}" for each in options.option]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [Cost(*each) for each in json.loads(done.stdout)]


def _data(kind: str, count: int, options: Any) -> Path:
    if kind == "remote":
        return Path("/")
    partitions = max(1, count // _OF_PARTITION)
    root = options.data / f"broker-{partitions}"
    return make_broker(root, partitions, count // partitions, _SEGMENT, has_batches=count < _HOLES)


# ---------------------------------------------------------------- in a process of its own


class _Meter:
    """The costs of one step after the other."""

    def __init__(self) -> None:
        self.costs: list[Cost] = []

    def step(self, name: str, work: Callable[[], Sequence[Any]], counts: Callable[[], tuple[int, int]]) -> None:
        """Do the work, whose tasks are then pickled as Spark's process does."""
        from pyspark.serializers import CloudPickleSerializer

        pickled = CloudPickleSerializer()
        read, calls = counts()
        wall, processor = time.perf_counter(), time.process_time()
        tasks = work()
        for task in tasks:
            pickled.dumps(task)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        now = counts()
        self.costs.append(Cost(name, wall, processor, now[0] - read, now[1] - calls, len(tasks), _peak()))


def _batch(root: Path | str, options: Any, counts: Callable[[], tuple[int, int]] | None = None) -> list[Cost]:
    meter, (source, schema) = _Meter(), _source(root, options)
    reader = source.reader(schema)
    meter.step("batch read", reader.partitions, counts or _system_reads)
    return meter.costs


def _stream(root: Path | str, options: Any) -> list[Cost]:
    meter, seen, (source, schema) = _Meter(), dict[str, Any](), _source(root, options)
    reader = source.streamReader(schema)

    def trigger() -> Sequence[Any]:
        start = seen.get("end") or reader.initialOffset()
        seen["end"] = reader.latestOffset(start, reader.getDefaultReadLimit())
        found: Sequence[Any] = reader.partitions(start, seen["end"]) if seen["end"] != start else ()
        return found

    meter.step("stream, first trigger", trigger, _system_reads)
    idle = _Meter()
    for _ in range(_IDLE):
        idle.step("stream, idle trigger", trigger, _system_reads)
    meter.costs.append(sorted(idle.costs, key=lambda cost: cost.processor)[_IDLE // 2])
    append(Path(root))
    meter.step("stream, news in each", trigger, _system_reads)
    return meter.costs


def _remote(_: Path, options: Any) -> list[Cost]:
    from simulated_store import simulated

    store, url = simulated(options.segments[0], _OF_PARTITION, _SEGMENT, options.latency)
    return _batch(url, options, lambda: (store.bytes_read, store.requests))


def _job(root: Path, options: Any) -> list[Cost]:
    from measure import processor_times
    from pyspark.sql import SparkSession

    from tagwire_spark import spark_conf
    from tagwire_spark.jobs.read import plan_logs
    from tagwire_spark.log_read.query import log_query

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    spark = SparkSession.builder.master("local[2]").config(map={**spark_conf(), **quiet}).getOrCreate()
    given = dict(each.split("=", 1) for each in options.option)
    one, every = (log_query({"path": str(path), "maxSplitBytes": "1g", **given}) for path in (root / "t-0", root))
    plan_logs(spark, one).count()
    wall, processor = time.perf_counter(), sum(processor_times())
    found = plan_logs(spark, every).count()
    wall, processor = time.perf_counter() - wall, sum(processor_times()) - processor
    spark.stop()
    return [Cost("planned by workers", wall, processor, 0, 0, found, _peak())]


_STEPS: Final[dict[str, Callable[[Path, Any], list[Cost]]]] = {
    "batch": _batch, "stream": _stream, "remote": _remote, "job": _job,
}  # fmt: skip


def _source(root: Path | str, options: Any) -> tuple[Any, Any]:
    """The data source, and the columns that are asked for."""
    from pyspark.sql.types import BinaryType, LongType, StructType

    from tagwire_spark.sources.log import LogSource

    given = dict(each.split("=", 1) for each in options.option)
    return LogSource({"path": str(root), **given}), StructType().add("offset", LongType()).add("key", BinaryType())


def _system_reads() -> tuple[int, int]:
    """Bytes that this process has asked the system for, and in how many calls."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines["rchar"]), int(lines["syscr"])


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir(), "tagwire-bench-growth"))
    parser.add_argument("--segments", type=int, action="append", help="how many; may be repeated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=tuple(_STEPS))
    parser.add_argument("--option", action="append", default=[], help="name=value, of the source; may be repeated")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="an SVG of the growth; needs matplotlib")
    parser.add_argument("--latency", type=float, default=0.02, help="seconds of a request to object storage")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
