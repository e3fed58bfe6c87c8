"""Write `kafka_log`: tasks stage segments, and the driver commits them.

The driver checks that segments of different tasks have different offsets, and that all offsets follow the existing log.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from tagwire.errors import TagwireError
from tagwire.log.checkpoints import EpochStart, checkpoint_bytes, with_later_epochs
from tagwire.log.errors import is_file
from tagwire.log.names import segment_file
from tagwire_spark.errors import PipelineError, rejection
from tagwire_spark.files.commit import (
    abandon,
    begin,
    carry_out,
    check_folder,
    commit_folder,
    job_of,
    left_of,
    noted_batches,
    remove_leftovers,
    staging,
)
from tagwire_spark.files.commit_folder import ENDED, Attempt, Change, Job, write_failure
from tagwire_spark.files.store import at_once, is_remote
from tagwire_spark.log_write.existing_log import ExistingLog, end_before, old_files
from tagwire_spark.log_write.micro_batch import (
    MicroBatch,
    batch_of_stream,
    batch_of_write,
    is_before,
    is_repeated,
    noted,
    reject_table,
)
from tagwire_spark.log_write.staged_segments import StagedSegment, renumber
from tagwire_spark.log_write.staging import Output
from tagwire_spark.log_write.target import SPELLED, LogTarget

_AT_ONCE: Final = 8
_EPOCHS: Final = "leader-epoch-checkpoint"
_NO_BASE: Final = "leave out column baseOffset, or set batchBytes"
"""The advice in errors about a baseOffset that the log already contains."""


class Staged(WriterCommitMessage):
    """A task's message to the driver: the segments that the task staged, and their micro-batch."""

    def __init__(
        self, segments: list[StagedSegment], batch: MicroBatch | None = None, *, is_committed: bool = False
    ) -> None:
        self.segments = segments
        self.batch = batch
        self.is_committed = is_committed
        """Whether the micro-batch was already committed, so that the task wrote nothing."""


class LogWriter(DataSourceArrowWriter):
    """A batch write of a DataFrame. Spark copies it to each task."""

    def __init__(self, target: LogTarget, *, overwrite: bool) -> None:
        self.target = target
        self.overwrite = overwrite
        self.job: Job = begin(target.root, target.storage)

    def write(self, iterator: Iterator[Any]) -> Staged:
        """Write a task's rows as segments. Spark calls this on workers."""
        reject_table()
        batch = batch_of_write(self.target)
        output = Output(self.job.root, lambda: staging(self.job), self.target, anew=self.overwrite)
        return Staged(_staged(output, iterator), batch)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit the write. Spark calls this on the driver when all tasks have succeeded."""
        _Commit(self.job, self.target, messages, overwrite=self.overwrite).carry_out()
        remove_leftovers(self.job, self.target.leftover_hours)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove the staged files. Spark calls this on the driver if a task has failed or the commit was rejected."""
        abandon(self.job)


class LogStreamWriter(DataSourceStreamArrowWriter):
    """A streaming write. For each micro-batch, Spark creates one writer for the tasks and one for the commit."""

    def __init__(self, target: LogTarget, *, overwrite: bool) -> None:
        self.target = target
        self.overwrite = overwrite
        check_folder(target.root, target.storage)

    def write(self, iterator: Iterator[Any]) -> Staged:
        """Write a task's rows as segments, unless the micro-batch is already committed. Spark calls this on workers."""
        batch = batch_of_stream()
        job = self._job(batch)
        output = Output(job.root, lambda: _staging(job, batch), self.target, anew=self.overwrite)
        try:
            return Staged(_staged(output, iterator), batch)
        except _CommittedBefore:
            return Staged([], batch, is_committed=True)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Commit a micro-batch, on the driver. Raises PipelineError if the tasks wrote a different micro-batch."""
        batch = _batch_of(messages)
        if batch is None:  # the micro-batch had no tasks
            return
        if batch.number != batchId:
            raise PipelineError(
                "KAFKA_LOG_WRITE_FAILED",
                f"{self.target.root}: Spark asked to commit micro-batch {batchId}, but the tasks wrote "
                f"micro-batch {batch.number}, so nothing was committed; start the query again.",
            )
        if not any(isinstance(message, Staged) and message.is_committed for message in messages):
            _Commit(self._job(batch), self.target, messages, overwrite=self.overwrite).carry_out()
        with suppress(PipelineError):  # the next commit tries again to remove leftovers
            for left in left_of(self.target.root, self.target.storage):
                if _is_before(left.id, batch):
                    abandon(left)
        remove_leftovers(self._job(batch), self.target.leftover_hours)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Remove the staged files after a failure, on the driver. The next commit removes files that are left."""
        if batch := _batch_of(messages):
            abandon(self._job(batch))

    def _job(self, batch: MicroBatch) -> Job:
        """Return the job of a micro-batch in one run of the query, so that other runs can't abort it."""
        return job_of(self.target.root, f"{batch.query}-{batch.run}-{batch.number}", self.target.storage)


class _CommittedBefore(Exception):
    """Raised in a task if its micro-batch is already committed."""


def _staging(job: Job, batch: MicroBatch) -> Attempt:
    attempt = staging(job, is_begun=False)
    if is_before(batch, noted_batches(job)):  # last, because a later commit removes the folder
        attempt.close()
        abandon(job)
        raise _CommittedBefore
    return attempt


def _batch_of(messages: Sequence[WriterCommitMessage | None]) -> MicroBatch | None:
    """Return the micro-batch that the tasks have written, or None if there are no messages."""
    return next((message.batch for message in messages if isinstance(message, Staged)), None)


def _is_before(id: str, batch: MicroBatch) -> bool:
    """Return whether a job ID belongs to `batch` or an earlier micro-batch of its query."""
    number = id.removesuffix(ENDED).rpartition("-")[2]
    return id.startswith(f"{batch.query}-") and number.isdecimal() and int(number) <= batch.number


def _staged(output: Output, iterator: Iterator[Any]) -> list[StagedSegment]:
    """Write a task's rows to staged segments. Raises PipelineError for rows that can't be encoded or written."""
    try:
        for batch in iterator:
            output.add_batch(batch.rename_columns([SPELLED[name.lower()] for name in batch.schema.names]))
        return output.end()
    except PipelineError:
        raise
    except TagwireError as error:
        raise rejection(error, "UNENCODABLE_KAFKA_RECORD") from None
    except OSError as error:
        raise write_failure(output.target.root, error) from None
    finally:
        output.close()


class _Commit:
    """Commits, on the driver, the segments that all tasks of a write have staged."""

    def __init__(
        self, job: Job, target: LogTarget, messages: Sequence[WriterCommitMessage | None], *, overwrite: bool
    ) -> None:
        staged = [message for message in messages if isinstance(message, Staged)]
        self.job = job
        self.target = target
        self.overwrite = overwrite
        self.folder = commit_folder(job.root, job.storage)
        self.batch = _batch_of(messages)
        self.segments = [segment for message in staged for segment in message.segments]
        self.logs: dict[str, list[StagedSegment]] = {}
        self.failure: PipelineError | None = None
        for segment in sorted(self.segments, key=_order):  # segments without offsets stay in task order
            self.logs.setdefault(segment.log, []).append(segment)

    def carry_out(self) -> None:
        for name, found in self.logs.items():
            _check_order(name, found)
        carry_out(self.job, self._change)

    def _change(self, before: Mapping[str, Any]) -> Change | None:
        if self.batch is not None and is_repeated(self.batch, before, self.segments):
            return None
        ends = {} if self.overwrite else self._ends()
        for name, found in self.logs.items():
            end = ends.get(name)
            if found[0].is_numbered:
                self._renumber(found, end or 0)
            elif end is not None:
                _check_end(self._existing(name), end, found[0])
        removes: list[str] = []
        if self.overwrite:
            removes = old_files(self.job.root, self.job.storage, self.logs, others=self.target.replaces_others)
        moves = [move for found in self.logs.values() for segment in found for move in _moves(segment)]
        for name, found in self.logs.items():
            self._add_epochs(name, found, moves, removes)
        facts = {name: _facts(found) for name, found in self.logs.items()}
        batches = {} if self.batch is None else noted(self.batch, self.segments)
        return Change(tuple(moves), tuple(removes), facts, batches)

    def _renumber(self, found: list[StagedSegment], end: int) -> None:
        """Renumber segments. After an error, their offsets are unknown, so another attempt raises the error again."""
        if self.failure is not None:
            raise self.failure
        try:
            renumber(self.folder, end, found)
        except PipelineError as error:
            self.failure = error
            raise

    def _existing(self, name: str) -> ExistingLog:
        return ExistingLog(self.job.root, name, self.job.storage)

    def _ends(self) -> dict[str, int | None]:
        ends = at_once(self._end_before, self.logs, is_concurrent=is_remote(self.job.root), threads=_AT_ONCE)
        return dict(zip(self.logs, ends, strict=True))

    def _end_before(self, name: str) -> int | None:
        """Return the end offset of an existing log, or None if there is no log.

        Raises PipelineError if the log can't be continued.
        """
        log, format = self._existing(name), self.logs[name][0].format
        end = end_before(log, format)
        if end is None:
            return None
        if self.target.must_be_new:
            raise PipelineError(
                "KAFKA_LOG_EXISTS",
                f"{log} already exists, which ifExists=error does not allow; choose another folder, or set option "
                "ifExists=append.",
            )
        if end.rest:
            text = (
                f"{log} has {end.rest} bytes after its last batch, so nothing can be appended; choose another folder. A"
            )
            text += (
                f" broker is still writing or crashed, or the log uses the magic byte of {format} for another format."
            )
            raise PipelineError("KAFKA_LOG_EXISTS", text)
        return end.offset

    def _add_epochs(
        self, name: str, found: list[StagedSegment], moves: list[tuple[str, str]], removes: list[str]
    ) -> None:
        """If the write begins new leader epochs, stage a checkpoint file that lists the old and the new epochs."""
        began = [EpochStart(*each) for segment in found for each in segment.epochs]
        known: list[EpochStart] = []
        replaced: list[str] = []
        target = f"{name}/{_EPOCHS}"
        if began and not self.overwrite:
            with self._existing(name).partition() as partition:
                if partition is not None:
                    known = partition.leader_epochs
                    replaced = [target] if is_file(partition.path / _EPOCHS) else []
        new = with_later_epochs(known, began)
        if new != known:
            staged = self.folder.stage(self.job, f"{name}-{_EPOCHS}", checkpoint_bytes(new))
            moves.append((staged, target))
            removes += replaced


def _check_end(log: ExistingLog, end: int, first: StagedSegment) -> None:
    if first.base_offset >= end:
        return
    text = f"{log} ends with offset {end - 1}, so offset {first.base_offset} can't be appended"
    if first.first_record >= end:
        text += f"; this offset is the baseOffset of the record at offset {first.first_record}; {_NO_BASE}"
    raise PipelineError("KAFKA_LOG_EXISTS", f"{text}.")


def _moves(segment: StagedSegment) -> Iterator[tuple[str, str]]:
    for file in segment.files:
        yield file, f"{segment.log}/{segment_file(segment.base_offset, Path(file).suffix[1:])}"


def _order(segment: StagedSegment) -> tuple[str, int, int]:
    if segment.is_numbered:
        return segment.log, 0, 0
    return segment.log, segment.base_offset, segment.first_record


def _check_order(name: str, found: list[StagedSegment]) -> None:
    """Raise PipelineError if tasks wrote the same offsets, or if several tasks wrote a partition with transactions."""
    for one, other in pairwise(found):
        if other.is_numbered or other.base_offset >= one.end_offset:
            continue
        if other.first_record >= one.end_offset:
            text = f"Rows of {name} with baseOffset {other.base_offset} were split between two tasks, at offset "
            text += f"{other.first_record}; {_NO_BASE}, or repartition by topic and partition."
        else:
            text = f"Two tasks wrote offsets {other.base_offset} to {one.end_offset - 1} of {name}; repartition "
            text += "by topic and partition, or by ranges of topic, partition and offset."
        raise PipelineError("KAFKA_LOG_ROWS_NOT_IN_ORDER", text)
    tasks = {Path(each.files[-1]).parts[1] for each in found}
    if len(tasks) > 1 and any(each.has_transactions for each in found):
        text = f"{len(tasks)} tasks wrote {name}, which has transactions; repartition it to a single task."
        raise PipelineError("KAFKA_LOG_ROWS_NOT_IN_ORDER", text)


def _facts(found: list[StagedSegment]) -> dict[str, int]:
    return {
        "baseOffset": found[0].base_offset,
        "endOffset": found[-1].end_offset,
        "segments": len(found),
        "batches": sum(each.batches for each in found),
        "records": sum(each.records for each in found),
        "bytes": sum(each.bytes for each in found),
    }
