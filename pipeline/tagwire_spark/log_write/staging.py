"""Write a task's rows as batches in segments, in the attempt's folder.

For logs in object storage, that folder is local to the worker, and full segments are uploaded. Nothing is sorted: the
rows of each partition must come in offset order. Rows of different partitions may alternate. All open batches share a
memory limit, and only a few files are open at a time.

Rows without offsets are numbered from the end of the log. The driver can renumber them later (`numbered`).
"""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from tagwire.errors import EncodeError
from tagwire.records import BatchBuilder, Record, format_of
from tagwire.records.moving import new_run
from tagwire.text_format import shown
from tagwire.wire.checksums import checksum
from tagwire.wire.varint import to_zigzag, uvarint_bytes
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.commit_folder import Attempt
from tagwire_spark.log_write.existing_log import ExistingLog, end_before
from tagwire_spark.log_write.rows import Facts, RecordToWrite, RowRun, as_record, entries, row_runs, with_numbers
from tagwire_spark.log_write.staged_segments import Segments, StagedSegment
from tagwire_spark.log_write.target import LogTarget

if TYPE_CHECKING:
    from tagwire._records import RecordRun


# A checksum over records, to compare two writes of a micro-batch.
#
# The sum does not depend on the order, batches or offsets of the records. It covers each record's key, value and
# headers as encoded in format v2.


def content_sum(records: Iterable[Record]) -> int:
    """Return the sum of the CRC-32C checksums of all records."""
    return sum(checksum("crc32c", _body(record)) for record in records)


def _body(record: Record) -> bytes:
    headers = [(str(name).encode(), value) for name, value in record.headers]
    parts = [record.key, record.value, *(part for header in headers for part in header)]
    written = [_varint(-1) if part is None else _varint(len(part)) + part for part in parts]
    return b"".join([*written[:2], _varint(len(headers)), *written[2:]])


def _varint(value: int) -> bytes:
    return uvarint_bytes(to_zigzag(value))


_INT32: Final = 0x7FFFFFFF
_INT64: Final = (1 << 63) - 1
_TOPIC: Final = re.compile(r"(?!\.{1,2}-)[a-zA-Z0-9._-]{1,249}-\d+")
"""Matches the name of a partition folder with a valid topic name."""
_HEADER_SIZE: Final = 61
_RECORD_SIZE: Final = 34
"""Maximum number of bytes that a record of any format needs in addition to its key, value and headers."""
_RECORD_HEADER_SIZE: Final = 10
_OBJECT_SIZE: Final = 200
"""Memory overhead of a record object, in bytes."""
_OPEN_BYTES: Final = 64 << 20
"""Memory limit for the open batches of all partitions except the current one, in bytes."""
_OPEN_FILES: Final = 64
"""Maximum number of partitions whose files stay open. In a task with more partitions, a file is closed when the task
turns to another partition."""


class Output:
    """Writes the output of one task attempt. Methods raise PipelineError if a row or a file can't be written."""

    def __init__(self, root: str, staging: Callable[[], Attempt], target: LogTarget, *, anew: bool) -> None:
        self.root = root
        self.staging = staging
        """A function that returns the staging folder of the attempt. It is called at the first row."""
        self.target = target
        self.anew = anew
        self.attempt: Attempt | None = None
        self.current: _Log | None = None
        self._logs: dict[str, _Log] = {}
        self._held = 0
        """Memory in bytes of the open batches, except the current one."""

    def add_batch(self, batch: Any) -> None:
        runs = row_runs(batch, self.target)
        if runs is None:
            self._add_entries(batch)
            return
        for run in runs:
            left = self._log_of(run.facts).add_run(run)
            if left is not None:
                self._add_entries(left)

    def _add_entries(self, batch: Any) -> None:
        for entry in entries(batch, self.target):
            self._log_of(entry.facts).add(entry)

    def _log_of(self, facts: Facts) -> "_Log":
        return self.current if self.current is not None and self.current.name == facts.log else self._next(facts)

    def end(self) -> list[StagedSegment]:
        """Write the open batches, and flush or upload all files. Return all segments."""
        found = [segment for log in self._logs.values() for segment in log.end()]
        if self.attempt is not None:
            self.attempt.end()
        return found

    def close(self) -> None:
        """Remove local files that are no longer needed, after success or failure."""
        if self.attempt is not None:
            self.attempt.close()

    def _next(self, facts: Facts) -> "_Log":
        name = facts.log
        if name not in self._logs:
            self._logs[name] = self._begin(name, facts)
        if self.current is not None:
            self._held += self.current.held
            if len(self._logs) > _OPEN_FILES:
                self.current.close_file()
        if self._held > _OPEN_BYTES:
            self._end_fullest()
        self.current = self._logs[name]
        self._held -= self.current.held
        return self.current

    def _end_fullest(self) -> None:
        """End the largest open batches until half of the memory limit is free."""
        for log in sorted(self._logs.values(), key=lambda log: log.held, reverse=True):
            self._held -= log.held
            log.end_batch()
            if self._held <= _OPEN_BYTES // 2:
                return

    def _begin(self, name: str, facts: Facts) -> "_Log":
        if not 0 <= facts.partition <= _INT32 or not _TOPIC.fullmatch(name):
            text = f"{shown(name)}: expected a topic of 1 to 249 characters a-z, A-Z, 0-9, '.', '_' and '-' "
            text += (
                f"(but not '.' or '..'), and a partition number of 0 to {_INT32}; correct columns topic and partition."
            )
            raise PipelineError("UNENCODABLE_KAFKA_RECORD", text)
        self.attempt = self.attempt or self.staging()
        (self.attempt.folder / name).mkdir()
        before = None if self.anew else ExistingLog(self.root, name, self.target.storage)
        return _Log(name, self.attempt, self.target, before)


class _Log:
    """A partition that a task writes. `before` is the log to extend, if any."""

    def __init__(self, name: str, attempt: Attempt, target: LogTarget, before: ExistingLog | None) -> None:
        self.name = name
        self.target = target
        self.before = before
        self.next_offset: int | None = None
        self.facts: Facts | None = None
        self.builder = BatchBuilder()
        self.run: RecordRun | None = None
        """The records of the open batch if they are already encoded; otherwise they are in the builder."""
        self.bytes = self.count = self.base_offset = self.first_offset = self.content = 0
        self.has_tombstones = self.has_number_keys = False
        self.formats: dict[int, str] = {}
        """The format that this log uses for each magic byte."""
        self.segments = Segments(name, attempt, target, before)

    def add(self, entry: RecordToWrite) -> None:
        offset = entry.offset
        if offset is None:
            self.segments.is_numbered = True
            offset = self._start(entry.facts.format) if self.next_offset is None else self.next_offset
        elif self.next_offset is not None and offset < self.next_offset:
            text = (
                f"A row of {self.name} has offset {offset} after offset {self.next_offset - 1}; sort within partitions."
            )
            raise PipelineError("KAFKA_LOG_ROWS_NOT_IN_ORDER", text)
        size = _RECORD_SIZE + len(entry.key or b"") + len(entry.value or b"")
        for name, value in entry.headers:
            size += _RECORD_HEADER_SIZE + 4 * len(str(name)) + len(value or b"")
        is_other = self.run is not None or (entry.facts is not self.facts and entry.facts != self.facts)
        if is_other or self._is_full(size, offset):
            self._begin(entry.facts, offset)
        if self.has_number_keys and entry.headers:
            entry = with_numbers(entry)
        self.builder.records.append(as_record(entry, offset, self.has_tombstones))
        self.bytes += size
        self.count += 1
        self.next_offset = offset + 1

    def add_run(self, run: RowRun) -> Any:
        """Write rows with C code. Return None or, if C code can't write a row, that row and all later ones."""
        if self.next_offset is None:
            self.next_offset = 0 if run.has_offsets else self._start(run.facts.format)
        if self.next_offset > _INT64:
            return run.since(0)
        self.segments.is_numbered = self.segments.is_numbered or not run.has_offsets
        rows = run.rows(self.next_offset)
        most = None if run.facts.base_offset is not None else self.target.most_bytes - _HEADER_SIZE
        row, is_right = 0, True
        while row < run.size and is_right:
            if self.run is None or run.facts != self.facts:
                self._begin(run.facts, run.offset(row) if run.has_offsets else rows.next_offset)
                self.run = new_run(self.base_offset, None)
            content = rows.content
            row, is_right = self.run.append(rows, row, run.size, most, self.target.batch_records)
            self.content += rows.content - content
            self.count, self.next_offset = len(self.run), rows.next_offset
            if row < run.size:
                self._flush()
                self.facts = None
        return None if is_right else run.since(row)

    @property
    def held(self) -> int:
        return self.bytes + _OBJECT_SIZE * self.count if self.run is None else self.run.size

    def end_batch(self) -> None:
        """Write the open batch, and close the segment's file until it is needed again."""
        self._flush()
        self.facts, self.builder, self.bytes = None, BatchBuilder(), 0
        self.close_file()

    def close_file(self) -> None:
        if self.segments.writer is not None:
            self.segments.writer.pause()

    def end(self) -> list[StagedSegment]:
        self._flush()
        return self.segments.end()

    def _start(self, format: str) -> int:
        end = end_before(self.before, format) if self.before else None
        return end.offset if end else 0

    def _is_full(self, size: int, offset: int) -> bool:
        target = self.target
        return (
            offset - self.base_offset > _INT32
            or (target.batch_records is not None and self.count >= target.batch_records)
            or (self.bytes + size > target.most_bytes and (self.facts is None or self.facts.base_offset is None))
        )

    def _begin(self, facts: Facts, offset: int) -> None:
        self._flush()
        format = format_of(facts.format)
        known = self.formats.setdefault(format.magic, format.name)
        if known != format.name:
            raise PipelineError(
                "UNENCODABLE_KAFKA_RECORD",
                f"Rows of {self.name} use the formats {known} and {format.name}, which both have magic {format.magic}; "
                "use only one of them in a log.",
            )
        base = offset if facts.base_offset is None else facts.base_offset
        if not 0 <= base <= offset:
            text = f"A row of {self.name} has baseOffset {base}; expected 0 to its offset, {offset}."
            raise PipelineError("UNENCODABLE_KAFKA_RECORD", text)
        # If an original batch is written as two batches, only the first has the original base offset.
        if self.next_offset is not None and base < self.next_offset:
            base = offset
        numbers: dict[str, Any] = {
            "partition_leader_epoch": facts.leader_epoch,
            "producer_id": facts.producer_id,
            "producer_epoch": facts.producer_epoch,
            "base_sequence": -1 if facts.sequence_at_zero < 0 else (facts.sequence_at_zero + base) & _INT32,
        }
        self.builder = BatchBuilder(
            format,
            compression=facts.compression,
            timestamp_type="create" if facts.append_time is None else "append",
            append_time=-1 if facts.append_time is None else facts.append_time,
            base_offset=base if format.records is not None else None,
            is_transactional=facts.is_transactional,
            is_control=facts.is_control,
            # Rows that have offsets are copied from a log, so accept null values without KIP-87's tombstone flag.
            as_read=not self.segments.is_numbered,
            **numbers,
        )
        self.facts, self.base_offset, self.first_offset, self.bytes, self.count = facts, base, offset, _HEADER_SIZE, 0
        self.has_tombstones = "is_tombstone" in format.record_bits
        self.has_number_keys = format.header_key is int

    def _flush(self) -> None:
        if not self.count:
            self.run = None
            return
        try:
            batch = self.builder.build() if self.run is None else self.builder.build_run(self.run)
        except EncodeError as error:
            text = f"the batch of {self.name} at offset {self.base_offset} can't be encoded: {error}."
            raise PipelineError("UNENCODABLE_KAFKA_RECORD", text) from None
        self.segments.append(batch, self.count, self.first_offset)
        self.segments.content += self.content if self.run is not None else content_sum(self.builder.records)
        self.run, self.count, self.content = None, 0, 0
