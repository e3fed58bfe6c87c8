"""Work on workers: a list of units goes out, a JSON value for each comes back, and no records with either.

Large units begin first and small ones share a task, so that the last task is
no long one. Spark may try a unit several times, or twice at once; what work
writes must be harmless then (`outputs` has the way).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from tagwire.errors import TagwireError
from tagwire.log import LogPathError
from tagwire_spark.errors import PipelineError, refusal
from tagwire_spark.session import failures_told
from tagwire_spark.worker import settle_worker

__all__ = ["TASK_BYTES", "over_units", "run_units"]

TASK_BYTES: Final = 64 << 20
"""The most bytes of the units that share a task."""
_OPENING: Final = 1 << 20
"""What a unit costs beside its bytes, in bytes."""
_UNIT_COLUMNS: Final = pa.schema([("task", pa.int32()), ("unit", pa.int32()), ("text", pa.string())])
_RESULT: Final = "unit int, result string"
_RESULT_COLUMNS: Final = pa.schema([("unit", pa.int32()), ("result", pa.string())])

_ROWS: Final = 1000

Batches = Iterator[pa.RecordBatch]


def run_units(spark: SparkSession, units: Sequence[Any], sizes: Sequence[int], work: Callable[[Any], Any]) -> list[Any]:
    """What `work` makes of each unit, in the order of units.

    A unit, and what is made of it, is what JSON can hold; `sizes` are the bytes
    that each unit reads. `work` must be importable on workers. Raises
    PipelineError for what a worker refuses, and for what Spark fails with.
    """
    if not units:
        return []
    found: list[Any] = [None] * len(units)
    with failures_told():
        results = over_units(spark, units, sizes, _one_result(work), _RESULT).toArrow()
    for batch in results.to_batches(max_chunksize=_ROWS):  # as rows of Spark's, all would be objects at once
        for row in batch.to_pylist():
            found[row["unit"]] = json.loads(row["result"])
    return found


def over_units(
    spark: SparkSession,
    units: Sequence[Any],
    sizes: Sequence[int],
    work: Callable[[int, Any], Iterable[pa.RecordBatch]],
    schema: str,
) -> DataFrame:
    """The rows that `work` makes of each unit and its number; as `run_units` otherwise, and nothing runs yet."""
    tasks = _tasks(sizes)
    numbers = [number for task in tasks for number in task]
    of_task = [number for number, task in enumerate(tasks) for _ in task]
    texts = pa.array((json.dumps(units[number]) for number in numbers), pa.string(), size=len(numbers))
    df = spark.createDataFrame(pa.table([of_task, numbers, texts], schema=_UNIT_COLUMNS))
    return df.repartitionById(len(tasks), col("task")).mapInArrow(_working(work), schema)


def _tasks(sizes: Sequence[int]) -> list[list[int]]:
    """Numbers of units for each task, large ones first."""
    tasks: list[list[int]] = []
    left = 0
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        cost = sizes[number] + _OPENING
        if cost > left:
            tasks.append([])
            left = TASK_BYTES
        tasks[-1].append(number)
        left -= cost
    return tasks


def _working(work: Callable[[int, Any], Iterable[pa.RecordBatch]]) -> Callable[[Iterable[pa.RecordBatch]], Batches]:
    """What a worker does with its units."""

    def run(batches: Iterable[pa.RecordBatch]) -> Batches:
        settle_worker()
        for batch in batches:
            for row in batch.to_pylist():
                try:
                    yield from work(row["unit"], json.loads(row["text"]))
                except TagwireError as error:
                    raise refusal(error, "MALFORMED_KAFKA_LOG") from None

    return run


def _one_result(work: Callable[[Any], Any]) -> Callable[[int, Any], Batches]:
    def run(number: int, unit: Any) -> Batches:
        try:
            result = json.dumps(work(unit))
        except LogPathError:
            raise
        except OSError as error:  # of a full disk, it often names no file
            place = error.filename or getattr(work, "keywords", {}).get("attempts", "the output")
            text = f"{place}: can't be written by a worker: {error.strerror or error}."
            raise PipelineError("KAFKA_LOG_WRITE_FAILED", text) from None
        yield pa.RecordBatch.from_pylist([{"unit": number, "result": result}], schema=_RESULT_COLUMNS)

    return run
