"""Work on workers: a list of units goes out, a JSON value for each comes back, and no records with either.

Large units begin first and small ones share a task, so that the last task is
no long one. Spark may try a unit several times, or twice at once; what work
writes must be harmless then (`outputs` has the way).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import col

from tagwire.errors import TagwireError
from tagwire_spark.errors import SPARK_ERRORS, failure, refusal

__all__ = ["run_units"]

_TASK_BYTES: Final = 64 << 20
"""Units share a task up to so many bytes."""
_OPENING: Final = 1 << 20
"""What a unit costs beside its bytes, in bytes."""
_RESULT: Final = "unit int, result string"


def run_units(spark: SparkSession, units: Sequence[Any], sizes: Sequence[int], work: Callable[[Any], Any]) -> list[Any]:
    """What `work` makes of each unit, in the order of units.

    A unit, and what is made of it, is what JSON can hold; `sizes` are the bytes
    that each unit reads. `work` must be importable on workers. Raises
    PipelineError for what a worker refuses, and for what Spark fails with.
    """
    if not units:
        return []
    tasks = _tasks(sizes)
    rows = [(task, number, json.dumps(units[number])) for task, numbers in enumerate(tasks) for number in numbers]
    df = spark.createDataFrame(rows, "task int, unit int, text string")
    spread = df.repartitionById(len(tasks), col("task"))
    found: list[Any] = [None] * len(units)
    try:
        for row in spread.mapInArrow(_working(work), _RESULT).collect():
            found[row.unit] = json.loads(row.result)
    except SPARK_ERRORS as error:
        raise failure(error) from None
    return found


def _tasks(sizes: Sequence[int]) -> list[list[int]]:
    """Numbers of units for each task, large ones first."""
    tasks: list[list[int]] = []
    left = 0
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        cost = sizes[number] + _OPENING
        if cost > left:
            tasks.append([])
            left = _TASK_BYTES
        tasks[-1].append(number)
        left -= cost
    return tasks


def _working(work: Callable[[Any], Any]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a worker does with its units."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                try:
                    result = json.dumps(work(json.loads(row["text"])))
                except TagwireError as error:
                    raise refusal(error, "MALFORMED_KAFKA_LOG") from None
                yield pa.RecordBatch.from_arrays(
                    [pa.array([row["unit"]], pa.int32()), pa.array([result])], names=["unit", "result"]
                )

    return run
