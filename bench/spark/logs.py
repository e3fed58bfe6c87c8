"""A log on Spark: our source beside Parquet of the same records, a reader in the JVM, and the study's reader.

The reader in the JVM is a generator over the records of Kafka's own clients
(KafkaRecords.scala): each task has a whole segment in memory. `ready batches`
is the ceiling of sources in Python (`ready`). The study is a reader in NumPy
that was written to find out what is possible; it is no part of this project and
is run from its folder where one is given.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from jars import RECORDS
from measure import noop
from pyspark.sql.types import StructType
from ready import ready_rows

__all__ = ["LOG_RATIOS", "log_contenders"]

_LIKE_STUDY: Final = (
    "topic string, partition int, offset long, timestamp timestamp, timestampType int, key binary, value binary, "
    "headers array<struct<key:string,value:binary>>, tombstone boolean, magic int"
)
"""The ten columns that the study's reader has."""
_KEYS: Final = "offset long, key binary"
_VALUES: Final = "offset long, key binary, value binary"
_TIMED: Final = "offset long, timestamp timestamp, key binary, value binary"
"""What the reader in the JVM makes of a record."""
_TIMED_ROW, _JVM, _CEILING = "kafka_log, four columns", "JVM generator, four columns", "ready batches, four columns"
LOG_RATIOS: Final = ((_TIMED_ROW, _JVM), (_TIMED_ROW, _CEILING))
_SUMS: Final = ("count(*)", "sum(offset)", "sum(length(key))", "sum(crc32(value))")

Contenders = dict[str, Callable[[], object]]


def log_contenders(spark: Any, log: Path, study: Path | None, jars: dict[str, Path]) -> Contenders:
    """What is measured on the log."""

    def ours(schema: str = "", **options: Any) -> Any:
        reader = spark.read.format("kafka_log").options(**options)
        return (reader.schema(schema) if schema else reader).load(str(log))

    parquet = log.with_name(f"{log.name}.parquet")
    if not parquet.exists():
        writer = ours(_LIKE_STUDY).write.option("compression", "none").option("parquet.enable.dictionary", "false")
        writer.parquet(str(parquet))
    found: Contenders = {
        "parquet, ten columns": lambda: noop(spark.read.parquet(str(parquet))),
        "parquet, offset and key": lambda: noop(spark.read.parquet(str(parquet)).select("offset", "key")),
        "kafka_log, ten columns": lambda: noop(ours(_LIKE_STUDY)),
        "kafka_log, all columns": lambda: noop(ours()),
        "kafka_log, offset, key and value": lambda: noop(ours(_VALUES)),
        "kafka_log, offset and key": lambda: noop(ours(_KEYS)),
        "kafka_log, heads of batches": lambda: ours("count int", level="batch").agg({"count": "sum"}).collect(),
        _TIMED_ROW: lambda: noop(ours(_TIMED)),
        _CEILING: lambda: noop(ready),
    }
    ready = ready_rows(spark, "ready_records", StructType.fromDDL(_TIMED), log, log.with_name(f"{log.name}.batches"))
    if RECORDS in jars:
        in_jvm = spark.read.format("binaryFile").load(f"{log}/*.log").selectExpr("kafka_records(content)")
        sums = [df.selectExpr(*_SUMS).first() for df in (in_jvm, ours(_TIMED))]
        if sums[0] != sums[1]:
            raise SystemExit(f"not the same records: {sums}")
        found[_JVM] = lambda: noop(in_jvm)
    return found | (_study(spark, log, study) if study else {})


def _study(spark: Any, log: Path, study: Path) -> Contenders:
    """The study's reader; its workers find its modules by PYTHONPATH."""
    import kds  # type: ignore[import-not-found]
    import kds2  # type: ignore[import-not-found]

    spark.dataSource.register(kds.KDS)
    spark.dataSource.register(kds2.KDS2)

    def narrow(schema: str) -> Any:
        return spark.read.format("klog2").schema(schema).load(str(log))

    return {
        "the study, ten columns": lambda: noop(spark.read.format("klog").option("crc", "true").load(str(log))),
        "the study, offset, key and value": lambda: noop(narrow(_VALUES)),
        "the study, offset and key": lambda: noop(narrow(_KEYS)),
    }


def with_study(study: Path) -> None:
    """Let this process and the workers that it will have import the study's modules."""
    sys.path.insert(0, str(study))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(study), os.environ.get("PYTHONPATH"))))
