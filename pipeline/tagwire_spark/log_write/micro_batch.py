"""Identify the micro-batch of a write, so that repeating the write has no effect.

A commit's manifest stores the number of each query's last micro-batch. All micro-batches up to that number count as
written, even if one is repeated with other rows.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from pyspark import TaskContext

from tagwire_spark.errors import PipelineError
from tagwire_spark.log_write.staged_segments import StagedSegment
from tagwire_spark.log_write.target import LogTarget
from tagwire_spark.options import NO_TABLES, invalid

_QUERY: Final = "sql.streaming.queryId"
_BATCH: Final = "streaming.sql.batchId"
_RUN: Final = "spark.jobGroup.id"
_EXECUTION: Final = "spark.sql.execution.id"
_ROOT: Final = "spark.sql.execution.root.id"
"""Local properties that Spark sets for tasks. It sets the first three only for micro-batches."""


class MicroBatch(NamedTuple):
    """A micro-batch of a streaming query."""

    query: str
    number: int
    run: str = ""
    """Spark's run ID, which changes with each start of the query, or empty if it is unknown."""


def batch_of_stream() -> MicroBatch:
    """Return the micro-batch of the current task. Raises PipelineError if Spark doesn't provide it."""
    query, number, run = _of_task()
    if not (query and run and number.isdecimal()):
        text = "The task's micro-batch is unknown; write with foreachBatch, and set the options batchId and queryId."
        raise PipelineError("KAFKA_LOG_WRITE_FAILED", text)
    return MicroBatch(query, int(number), run)


def batch_of_write(target: LogTarget) -> MicroBatch | None:
    """Return the write's micro-batch, or None if batchId isn't set. Raises PipelineError if the query ID is missing."""
    if target.batch_id is None:
        return None
    query, _, run = _of_task()
    if not (target.query_id or query):
        text = f"Option batchId is {target.batch_id}, but the query of that batch is unknown; "
        raise invalid(f"{text}set option queryId to a name that this stream or job always uses.")
    return MicroBatch(target.query_id or query, target.batch_id, run if query else "")


def reject_table() -> None:
    """Raise PipelineError if this task belongs to saveAsTable, because Spark could not read the resulting table.

    Only saveAsTable and writes in foreachBatch run inside another command. A write in foreachBatch has a query ID.
    """
    execution, root, streaming = _properties(_EXECUTION, _ROOT, _QUERY)
    if execution != root and not streaming:
        raise invalid(f"This write is part of another command, such as saveAsTable. {NO_TABLES}")


def _of_task() -> tuple[str, str, str]:
    query, number, run = _properties(_QUERY, _BATCH, _RUN)
    return query, number, run


def _properties(*names: str) -> list[str]:
    """Return local properties of the current Spark task, or "" for a property that isn't set."""
    task = TaskContext.get()
    return ["" if task is None else task.getLocalProperty(name) or "" for name in names]


def is_before(batch: MicroBatch, before: Mapping[str, Any]) -> bool:
    """Return whether the manifest `before` lists this micro-batch or a later one of its query."""
    return batch.query in before and bool(before[batch.query]["batchId"] >= batch.number)


def is_repeated(batch: MicroBatch, before: Mapping[str, Any], segments: list[StagedSegment]) -> bool:
    """Return whether a micro-batch has already been committed and needn't be written again.

    Raises PipelineError if this run of the query has committed the batch with other rows.
    """
    if not is_before(batch, before):
        return False
    noted = before[batch.query]
    is_same = noted["batchId"] == batch.number and noted["runId"] == batch.run != ""
    if is_same and noted["rows"] != _digest(segments):
        text = f"Batch {batch.number} of query {batch.query} was already written here by this run, with other rows; "
        text += "to write a batch twice, give the second write its own queryId."
        raise PipelineError("KAFKA_LOG_EXISTS", text)
    return True


def noted(batch: MicroBatch, segments: list[StagedSegment]) -> dict[str, Any]:
    """Return what a commit's manifest stores about a micro-batch."""
    return {batch.query: {"batchId": batch.number, "runId": batch.run, "rows": _digest(segments)}}


def _digest(segments: list[StagedSegment]) -> str:
    sums: dict[str, tuple[int, int]] = {}
    for each in segments:
        records, content = sums.get(each.log, (0, 0))
        sums[each.log] = records + each.records, content + each.content
    return blake2b(repr(sorted(sums.items())).encode(), digest_size=8).hexdigest()
