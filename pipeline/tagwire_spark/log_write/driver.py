"""Writing to `kafka_log`: tasks stage segments, the driver holds them against each other and the log, and commits."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Final

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from tagwire.errors import TagwireError
from tagwire.log.checkpoints import EpochStart
from tagwire.log.partition import Partition
from tagwire_spark.errors import PipelineError, refusal
from tagwire_spark.files.commit import Change, Job, abandon, begin, carry_out, old_files, write_failure
from tagwire_spark.log_write.entries import entries
from tagwire_spark.log_write.existing_log import end_before
from tagwire_spark.log_write.staging import Output, StagedSegment
from tagwire_spark.log_write.target import LogTarget

__all__ = ["LogWriter", "Staged"]

_EPOCHS: Final = "leader-epoch-checkpoint"
_NO_BASE: Final = "leave out column baseOffset, or set batchBytes"
"""What to do where records have been taken out of their batch."""


class Staged(WriterCommitMessage):
    """What a task tells the driver: its segments, and nothing of what is in them."""

    def __init__(self, segments: list[StagedSegment]) -> None:
        self.segments = segments


class LogWriter(DataSourceArrowWriter):
    """A write of a DataFrame; made on the driver, and copied to each task."""

    def __init__(self, target: LogTarget, *, overwrite: bool) -> None:
        self.target = target
        self.overwrite = overwrite
        self.job: Job = begin(target.root)

    def write(self, iterator: Iterator[Any]) -> Staged:
        """On a worker: the rows of a task as segments."""
        output = Output(self.job, self.target, anew=self.overwrite)
        try:
            for batch in iterator:
                for entry in entries(batch, self.target):
                    output.add(entry)
            return Staged(output.end())
        except PipelineError:
            raise
        except TagwireError as error:
            raise refusal(error, "UNENCODABLE_KAFKA_RECORD") from None
        except OSError as error:
            raise write_failure(self.target.root, error) from None

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """On the driver, when all tasks are done."""
        segments = [each for message in messages if isinstance(message, Staged) for each in message.segments]
        root = Path(self.job.root)
        logs = {name: list(found) for name, found in groupby(sorted(segments, key=_place), lambda s: s.log)}
        for name, found in logs.items():
            _check_order(name, found)
        facts = {name: _facts(found) for name, found in logs.items()}

        def change() -> Change:
            for name, found in () if self.overwrite else logs.items():
                self._check_log(root / name, found)
            removes = old_files(root, logs, others=self.target.replaces_others) if self.overwrite else ()
            moves = [(file, f"{each.log}/{Path(file).name}") for each in segments for file in each.files]
            moves += _epochs(self.job, logs, anew=self.overwrite)
            return Change(tuple(moves), tuple(removes), facts)

        carry_out(self.job, change)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """On the driver, when a task has failed, or the commit was refused."""
        abandon(self.job)

    def _check_log(self, folder: Path, found: list[StagedSegment]) -> None:
        """Reject offsets that do not continue the existing log."""
        first = found[0]
        end = end_before(folder, first.format)
        if end is None:
            return
        if self.target.must_be_new:
            raise PipelineError("KAFKA_LOG_EXISTS", f"{folder} exists already, and option ifExists is error.")
        if end.rest:
            text = (
                f"{folder} has {end.rest} bytes behind its last batch: a broker has it open, or died over it; or its "
            )
            text += (
                f"batches have the magic byte of {first.format} for another format, which no reader can tell from it."
            )
            raise PipelineError("KAFKA_LOG_EXISTS", text)
        if first.base_offset < end.offset:
            text = f"{folder} ends with offset {end.offset - 1}; offset {first.base_offset} can't be appended to it"
            if first.first_record >= end.offset:
                text += f": it is the baseOffset of offset {first.first_record}; {_NO_BASE}"
            raise PipelineError("KAFKA_LOG_EXISTS", f"{text}.")


def _place(segment: StagedSegment) -> tuple[str, int, int]:
    return segment.log, segment.base_offset, segment.first_record


def _check_order(name: str, found: list[StagedSegment]) -> None:
    """Refuse what two tasks have written to the same offsets."""
    for one, other in pairwise(found):
        if other.base_offset >= one.end_offset:
            continue
        if other.first_record >= one.end_offset:
            text = f"Rows of {name} with baseOffset {other.base_offset} have come to two tasks, from offset "
            text += f"{other.first_record} on to the second; {_NO_BASE}, or repartition by topic and partition."
        else:
            text = f"Two tasks have written offsets {other.base_offset} to {one.end_offset - 1} of {name}; repartition "
            text += "by topic and partition, or by ranges of topic, partition and offset."
        raise PipelineError("KAFKA_LOG_ROWS_NOT_IN_ORDER", text)
    tasks = {Path(each.files[-1]).parts[1] for each in found}
    if len(tasks) > 1 and any(each.has_transactions for each in found):
        text = f"{len(tasks)} tasks have written {name}, and it has transactions; one task must write all of it."
        raise PipelineError("KAFKA_LOG_ROWS_NOT_IN_ORDER", text)


def _epochs(job: Job, logs: dict[str, list[StagedSegment]], *, anew: bool) -> Iterator[tuple[str, str]]:
    """The checkpoints of leaders' epochs, staged: what was there, and what begins now."""
    for name, found in logs.items():
        began = [EpochStart(*each) for segment in found for each in segment.epochs]
        folder = Path(job.root, name)
        known = list(Partition(folder).leader_epochs) if folder.is_dir() and not anew else []
        new = list(known)
        for start in began:
            if not new or start.epoch > new[-1].epoch:
                new.append(start)
        if new != known:
            file = job.folder / f"{name}-{_EPOCHS}"
            lines = ["0", str(len(new)), *(f"{epoch} {offset}" for epoch, offset in new)]
            file.write_text("\n".join(lines) + "\n")
            yield file.relative_to(job.root).as_posix(), f"{name}/{_EPOCHS}"


def _facts(found: list[StagedSegment]) -> dict[str, int]:
    """The manifest's entry for a partition."""
    return {
        "baseOffset": found[0].base_offset,
        "endOffset": found[-1].end_offset,
        "segments": len(found),
        "batches": sum(each.batches for each in found),
        "records": sum(each.records for each in found),
        "bytes": sum(each.bytes for each in found),
    }
