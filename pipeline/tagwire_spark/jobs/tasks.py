"""Run units of work, such as reading one segment, on workers.

Units and their results are pickled. They are small, and contain no records.
Large units start first. Small units share a task. Spark may run a unit several times, even concurrently, so repeated
writes must be harmless (see `outputs`).
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, wraps
from typing import Any, Final, ParamSpec, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import from_arrow_schema

from tagwire.log import LogPathError
from tagwire_spark.errors import PipelineError, rejections, repeated
from tagwire_spark.log_read.splits import grouped_by_cost
from tagwire_spark.session import settle_worker, spark_errors_converted

TASK_BYTES: Final = 64 << 20
"""The maximum total size, in bytes, of the work units in one task."""
_OPENING: Final = 1 << 20
"""The cost of opening a unit's files, expressed as the number of bytes that can be read in that time."""
_UNIT_COLUMNS: Final = pa.schema([("task", pa.int32()), ("unit", pa.int32()), ("pickled", pa.binary())])
_RESULT: Final = pa.schema([("unit", pa.int32()), ("result", pa.binary())])

_ROWS: Final = 1000

Batches = Iterator[pa.RecordBatch]
_P = ParamSpec("_P")
_T = TypeVar("_T")
_Unit = TypeVar("_Unit")
_ATTEMPTS: Final = 3


def steadily(job: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorate a job so that it is repeated, at most twice, if logs change during the job.

    The whole job is repeated, because a single task can't list a log again: other tasks use the old listing.
    """
    again = repeated(_ATTEMPTS, "KAFKA_LOG_CHANGED")(job)

    @wraps(job)
    def run(*args: _P.args, **named: _P.kwargs) -> _T:
        every = [list(each) if isinstance(each, Iterator) else each for each in args]
        options = {name: list(each) if isinstance(each, Iterator) else each for name, each in named.items()}
        return again(*every, **options)  # type: ignore[arg-type]

    return run


def run_units(
    spark: SparkSession, units: Sequence[_Unit], sizes: Sequence[int], work: Callable[[_Unit], _T]
) -> list[_T]:
    """Run `work` on each unit, and return the results in the order of the units.

    `sizes` has the number of bytes that each unit reads. Raises PipelineError if a worker or Spark fails.
    """
    if not units:
        return []
    found: list[Any] = [None] * len(units)
    with spark_errors_converted():
        results = over_units(spark, units, sizes, partial(_one_result, work), _RESULT).toArrow()
    # Convert the rows in slices, because a million row objects would need too much memory.
    for batch in results.to_batches(max_chunksize=_ROWS):
        for row in batch.to_pylist():
            found[row["unit"]] = pickle.loads(row["result"])
    return found


def over_units(
    spark: SparkSession,
    units: Sequence[_Unit],
    sizes: Sequence[int],
    work: Callable[[int, _Unit], Iterable[pa.RecordBatch]],
    schema: pa.Schema,
) -> DataFrame:
    """Return a lazy DataFrame of the Arrow batches that `work(number, unit)` yields for each unit.

    The other arguments have the same meaning as in `run_units`.
    """
    tasks = _tasks(sizes)
    numbers = [number for task in tasks for number in task]
    of_task = [number for number, task in enumerate(tasks) for _ in task]
    pickled = pa.array((pickle.dumps(units[number]) for number in numbers), pa.binary(), size=len(numbers))
    df = spark.createDataFrame(pa.table([of_task, numbers, pickled], schema=_UNIT_COLUMNS))
    return df.repartitionById(len(tasks), col("task")).mapInArrow(_working(work), from_arrow_schema(schema))


def _tasks(sizes: Sequence[int]) -> list[list[int]]:
    """Group units of work into tasks of limited size, with large units first. Return the unit numbers of each task."""
    numbers = sorted(range(len(sizes)), key=lambda number: -sizes[number])
    return grouped_by_cost(numbers, (sizes[number] + _OPENING for number in numbers), TASK_BYTES)


def _working(work: Callable[[int, Any], Iterable[pa.RecordBatch]]) -> Callable[[Iterable[pa.RecordBatch]], Batches]:
    """Return a function for `mapInArrow` that calls `work` for each unit."""

    def run(batches: Iterable[pa.RecordBatch]) -> Batches:
        settle_worker()
        for batch in batches:
            for row in batch.to_pylist():
                with rejections("MALFORMED_KAFKA_LOG"):
                    yield from work(row["unit"], pickle.loads(row["pickled"]))

    return run


def _one_result(work: Callable[[Any], Any], number: int, unit: Any) -> Batches:
    try:
        result = pickle.dumps(work(unit))
    except LogPathError:
        raise
    except OSError as error:  # an error for a full disk often has no file name
        path = error.filename or getattr(work, "keywords", {}).get("attempts", "the output")
        text = f"{path} can't be written by a worker: {error.strerror or error}."
        raise PipelineError("KAFKA_LOG_WRITE_FAILED", text) from None
    yield pa.RecordBatch.from_pylist([{"unit": number, "result": result}], schema=_RESULT)
