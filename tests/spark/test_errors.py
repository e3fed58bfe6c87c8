from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tagwire_spark import CONDITIONS, PipelineError
from tagwire_spark.errors import failure
from tagwire_spark.log_read.query import OPTIONS, STREAM_OPTIONS
from tagwire_spark.session import spark_errors_converted

DOCS = Path(__file__).parents[2] / "docs"
KAFKA_OPTIONS = (
    *("assign", "subscribe", "subscribePattern", "startingOffsets", "endingOffsets", "startingTimestamp"),
    *("endingTimestamp", "startingOffsetsByTimestamp", "endingOffsetsByTimestamp", "failOnDataLoss", "includeHeaders"),
    *("startingOffsetsByTimestampStrategy", "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"),
    *("minPartitions", "maxRecordsPerPartition", "groupIdPrefix", "kafkaConsumer.pollTimeoutMs", "kafka.*", "topic"),
    *("fetchOffset.numRetries", "fetchOffset.retryIntervalMs", "kafka.isolation.level"),
)
"""The options of Spark's Kafka source, as listed in its integration guide."""
TRACE = 'Traceback (most recent call last):\n  File "worker.py", line 7, in main\n    work()\n    ^^^^^^\n'


@pytest.mark.parametrize(("text", "message"), [
    (f"An exception was thrown from the Python worker:\n{TRACE}OSError: [Errno 28] No space left on device: '/mnt/a'\n",
     "a worker raised OSError: [Errno 28] No space left on device: '/mnt/a'"),
    (f"An error occurred while calling o9.save.\n: java.lang.X: {TRACE}MemoryError\n\n\tat java.lang.Thread.run()",
     "a worker raised MemoryError"),
    (f"{TRACE}KeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\n{TRACE}OSError: x",
     "a worker raised OSError: x"),
    ("An error occurred while calling o1.x.\n: java.lang.OutOfMemoryError: heap\n\tat java.lang.Thread.run()",
     "java.lang.OutOfMemoryError: heap"),
    ("", "PySparkException"),
])  # fmt: skip
def test_cause_is_reported(text: str, message: str) -> None:
    class Failed(PySparkException):
        def __str__(self) -> str:
            return text

    Failed.__name__ = PySparkException.__name__
    error = failure(Failed(message="text"))
    assert (error.condition, error.text) == ("SPARK_FAILED", f"Spark failed: {message}")


@pytest.mark.spark
def test_errors_raised_by_workers(spark: SparkSession) -> None:
    def divide(batches: Iterator[Any]) -> Iterator[Any]:
        yield from (batch for batch in batches if 1 / 0)

    with pytest.raises(PipelineError, match="a worker raised ZeroDivisionError: division"), spark_errors_converted():
        spark.range(3).mapInArrow(divide, "id long").collect()


def test_the_documentation_lists_all_conditions_and_options() -> None:
    pages = {page.stem: page.read_text("utf-8") for page in DOCS.glob("spark*.md")}
    rows = [line.split("`")[1] for line in pages["spark-errors"].splitlines() if line.startswith("| `")]
    assert rows == sorted(CONDITIONS)
    undocumented = [
        name for name in (*OPTIONS, *STREAM_OPTIONS) if not any(f"`{name}" in page for page in pages.values())
    ]
    assert undocumented == ["path", "paths"]
    assert [name for name in KAFKA_OPTIONS if f"`{name}`" not in pages["spark-kafka"]] == []
