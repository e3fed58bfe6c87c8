"""Compare the data source `kafka_log` with Parquet, and with "the floor": a source that returns prepared batches.

    python bench/spark_floor.py [--megabytes 256] [--rounds 7]

The script runs only on Linux. The floor is a Python data source with the same schema and the same number of tasks. Its
workers return Arrow batches that `kafka_log` produced in advance. No Python data source can be faster: Spark only
starts the tasks and converts Arrow batches to rows. The Parquet files contain the same rows. Every round runs each
query once, in random order.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType
from report import aligned

from tagwire_spark import spark_conf

_THREE: Final = ["offset", "key", "value"]
_TEN: Final = [*_THREE, "topic", "partition", "timestamp", "timestampType", "headers", "tombstone", "magic"]
_QUERIES: Final = {"count()": ["offset"], "no columns": [], "three columns": _THREE, "ten columns": _TEN}
_SMALL: Final = "three columns, 8 MB"
_SOURCES: Final = ("kafka_log", "floor", "Parquet")


class Floor(DataSource):
    """A Spark data source that returns the Arrow batches stored in a folder. Each task reads one file."""

    @classmethod
    def name(cls) -> str:
        return "floor"

    def reader(self, schema: StructType) -> DataSourceReader:
        return FloorReader(self.options["path"])


class FloorReader(DataSourceReader):
    """Returns stored batches. A worker reads each file only once, and then keeps its batches in memory."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(str(path)) for path in sorted(Path(self.folder).iterdir())]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        from tagwire_spark.session import settle_worker

        settle_worker()  # kafka_log's workers also call this function
        return iter(_batches(partition.value))


@cache
def _batches(path: str) -> list[Any]:
    with pa.ipc.open_file(path) as file:
        return [file.get_batch(number) for number in range(file.num_record_batches)]


def main() -> None:
    """Measure all queries, and print their CPU and elapsed seconds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    conf = {**spark_conf(), "spark.ui.enabled": "false", "spark.driver.memory": "2g", "spark.log.level": "ERROR"}
    spark = SparkSession.builder.master("local[2]").config(map=conf).getOrCreate()
    with TemporaryDirectory() as folder:
        queries = _queries(spark, Path(folder), given.megabytes)
        for _ in range(2):
            for query in queries.values():
                query()
        _print_table(_measured(queries, given.rounds))
    spark.stop()


def _queries(spark: SparkSession, folder: Path, megabytes: int) -> dict[tuple[str, str], Callable[[], object]]:
    """Write the test data to a folder. Return a dict from (case, source) to a query that reads the data."""
    # Register the class that is imported from `spark_floor`. If it were in `__main__`, workers would get a new copy of
    # the class for every query.
    from spark_floor import Floor as ImportedFloor

    spark.dataSource.register(ImportedFloor)
    log = str(folder / "log")
    _rows(spark, megabytes).write.format("kafka_log").mode("append").save(log)
    read = spark.read.format("kafka_log")
    every = read.load(log).schema
    read.load(log).write.parquet(str(folder / "parquet"))
    parquet = spark.read.parquet(str(folder / "parquet"))
    queries: dict[tuple[str, str], Callable[[], object]] = {}
    for case, names in {**_QUERIES, "all columns": every.names, _SMALL: _THREE}.items():
        size = "8m" if case == _SMALL else "64m"
        schema = StructType([every[name] for name in names])
        floor = folder / case
        floor.mkdir()
        _save_batches(log, size, schema, floor)
        run = DataFrame.count if case in ("count()", "no columns") else _read
        of_log = spark.read.format("kafka_log").option("maxSplitBytes", size).schema(schema).load(log)
        queries[case, "kafka_log"] = partial(run, of_log)
        queries[case, "floor"] = partial(run, spark.read.format("floor").schema(schema).load(str(floor)))
        queries[case, "Parquet"] = partial(run, parquet if case == "no columns" else parquet.select(*names))
    return queries


def _read(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def _rows(spark: SparkSession, megabytes: int) -> DataFrame:
    """Return records with keys of 8 bytes and values of 100 bytes; every 64th record has a header."""
    rows = spark.range(0, megabytes * 8600, numPartitions=1)
    return rows.selectExpr(
        "'events' topic",
        "0 partition",
        "id offset",
        "cast(substr(md5(cast(id % 8400 as string)), 1, 8) as binary) key",
        "cast(substr(concat(sha2(cast(id as string), 256), sha2(cast(id as string), 224)), 1, 100) as binary) value",
        "timestamp_millis(1700000000000 + id) timestamp",
        "if(id % 64 = 0, array(named_struct('key', 'trace', 'value', cast('1' as binary))), null) headers",
    )


def _save_batches(log: str, size: str, schema: StructType, folder: Path) -> None:
    """Store the Arrow batches of `kafka_log` in one file per task."""
    from tagwire_spark.log_source import LogSource

    reader = LogSource({"path": log, "maxsplitbytes": size}).reader(schema)
    for number, task in enumerate(reader.partitions()):
        batches = [*reader.read(task)]
        with pa.ipc.new_file(str(folder / f"{number:05}"), batches[0].schema) as file:
            for batch in batches:
                file.write_batch(batch)


def _measured(
    queries: dict[tuple[str, str], Callable[[], object]], rounds: int
) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Return the CPU seconds (of the JVM and all workers) and the elapsed seconds of each query in each round."""
    random, order = Random(1), list(queries)
    times: dict[tuple[str, str], list[tuple[float, float]]] = {name: [] for name in order}
    for _ in range(rounds):
        random.shuffle(order)
        for name in order:
            cpu, start = _cpu_seconds(), time.perf_counter()
            queries[name]()
            times[name].append((_cpu_seconds() - cpu, time.perf_counter() - start))
    return times


def _cpu_seconds() -> float:
    """Return the CPU time of all processes that this process has started."""
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        stats[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    started, parents = set[int](), {os.getpid()}
    while parents := {process for process, (parent, _) in stats.items() if parent in parents}:
        started |= parents
    return sum(stats[process][1] for process in started) / os.sysconf("SC_CLK_TCK")


def _print_table(times: dict[tuple[str, str], list[tuple[float, float]]]) -> None:
    """Print the medians of all rounds. If a source's ratio to Parquet is above 1, the source is faster than Parquet."""
    for kind, label in enumerate(("CPU", "elapsed")):
        table = [(f"{label} seconds", *_SOURCES, "kafka_log / Parquet", "floor / Parquet", "kafka_log / floor")]
        of = {name: [each[kind] for each in rounds] for name, rounds in times.items()}
        for case in dict.fromkeys(case for case, _ in times):
            log, floor, parquet = (of[case, source] for source in _SOURCES)
            seconds = (f"{median(each):.2f}" for each in (log, floor, parquet))
            table.append((case, *seconds, _ratio(parquet, log), _ratio(parquet, floor), _ratio(floor, log)))
        print(aligned(table), end="\n\n")
        for first, second in (("three columns", "all columns"), ("three columns", _SMALL)):
            ratios = (f"{source} {_ratio(of[first, source], of[second, source])}" for source in _SOURCES)
            print(f"{first} / {second}:", *ratios, sep="  ")
        print(flush=True)


def _ratio(times: list[float], others: list[float]) -> str:
    return f"{median(time / other for time, other in zip(times, others, strict=True)):.2f}"


if __name__ == "__main__":
    sys.exit(main())
