"""What a write is part of: of which micro-batch of a stream, which makes its repetition have no effect; or of a table.

Spark gives a micro-batch the same number each time that it runs it, and a query the same id as long
as it has its checkpoint. A commit notes the last number of each query, and passes on those of
earlier commits; so a number up to the noted one is there already, whatever its rows are now.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from pyspark import TaskContext

from tagwire_spark.errors import PipelineError
from tagwire_spark.log_write.staged_segments import StagedSegment
from tagwire_spark.log_write.target import LogTarget
from tagwire_spark.options import NO_TABLES, invalid

__all__ = ["MicroBatch", "batch_of_stream", "batch_of_write", "is_before", "is_repeated", "noted", "refuse_table"]

_QUERY: Final = "sql.streaming.queryId"
_BATCH: Final = "streaming.sql.batchId"
_RUN: Final = "spark.jobGroup.id"
_EXECUTION: Final = "spark.sql.execution.id"
_ROOT: Final = "spark.sql.execution.root.id"
"""Local properties of tasks: the first three of those of a micro-batch."""


class MicroBatch(NamedTuple):
    """A micro-batch of a query."""

    query: str
    number: int
    run: str = ""
    """Of the query, since it was started last; empty where that is not known, or does not matter."""


def batch_of_stream() -> MicroBatch:
    """The micro-batch whose task this is. Raises PipelineError."""
    query, number, _ = _of_task()
    if not query or not number.isdecimal():
        text = "Spark does not say which micro-batch a task is of; write with foreachBatch, and the options batchId "
        raise PipelineError("KAFKA_LOG_WRITE_FAILED", f"{text}and queryId.")
    return MicroBatch(query, int(number))  # no query has two sinks, so all that is run again is a repetition


def batch_of_write(target: LogTarget) -> MicroBatch | None:
    """The micro-batch that the options of a write name, on a worker; None without any. Raises PipelineError."""
    if target.batch_id is None:
        return None
    query, _, run = _of_task()
    if not (target.query_id or query):
        text = f"Option batchId is {target.batch_id}, but no query is known whose batch that is; "
        raise invalid(f"{text}set option queryId to a name that this stream, or this job, has each time.")
    return MicroBatch(target.query_id or query, target.batch_id, run if query else "")


def refuse_table() -> None:
    """Raise PipelineError in a task of saveAsTable, which then makes no table: nobody could read it.

    Such a write has the options of any other. But it runs inside of the command that makes the table, where no other
    write does but that of foreachBatch.
    """
    execution, root, streaming = _properties(_EXECUTION, _ROOT, _QUERY)
    if execution != root and not streaming:
        raise invalid(f"This write is part of another command, such as saveAsTable. {NO_TABLES}")


def _of_task() -> tuple[str, str, str]:
    query, number, run = _properties(_QUERY, _BATCH, _RUN)
    return query, number, run


def _properties(*names: str) -> list[str]:
    """What Spark tells a task; empty texts outside of tasks."""
    task = TaskContext.get()
    return ["" if task is None else task.getLocalProperty(name) or "" for name in names]


def is_before(batch: MicroBatch, before: Mapping[str, Any]) -> bool:
    """Whether a micro-batch of this number or a later one was committed; `before` is what the last commit noted."""
    return batch.query in before and bool(before[batch.query]["batchId"] >= batch.number)


def is_repeated(batch: MicroBatch, before: Mapping[str, Any], segments: list[StagedSegment]) -> bool:
    """Whether a write of a micro-batch repeats what was committed.

    Raises PipelineError for another write by the same run of a query: that is no repetition, and would be lost.
    """
    if not is_before(batch, before):
        return False
    noted = before[batch.query]
    is_same = noted["batchId"] == batch.number and noted["runId"] == batch.run != ""
    if is_same and noted["rows"] != _digest(segments):
        text = f"Batch {batch.number} of query {batch.query} has been written here already, by this run and with other "
        text += "rows; where a batch is written twice, give the second write an option queryId of its own."
        raise PipelineError("KAFKA_LOG_EXISTS", text)
    return True


def noted(batch: MicroBatch, segments: list[StagedSegment]) -> dict[str, Any]:
    """What a commit notes of its micro-batch."""
    return {batch.query: {"batchId": batch.number, "runId": batch.run, "rows": _digest(segments)}}


def _digest(segments: list[StagedSegment]) -> str:
    """How many records each partition gets, and the sum over their content, as a short text."""
    sums: dict[str, tuple[int, int]] = {}
    for each in segments:
        records, content = sums.get(each.log, (0, 0))
        sums[each.log] = records + each.records, content + each.content
    return blake2b(repr(sorted(sums.items())).encode(), digest_size=8).hexdigest()
