"""Write segments with new indexes.

As in a broker with default settings, an index has an entry for the first batch after every 4096 bytes. A time index has
one more entry at its end, for the segment's highest timestamp.
"""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from tagwire.frames.known_packages import kafka_messages
from tagwire.log.batch_rules import OpenTransactions
from tagwire.log.indexes import AbortedTransaction, OffsetIndex, TimeIndex
from tagwire.log.names import segment_file
from tagwire.log.segment import Segment
from tagwire.records import RecordBatch, read_batches

_INTERVAL: Final = 4096


def index_kinds(segment: Segment) -> set[str]:
    """Return the kinds of index to write for a copy of a segment.

    If a segment has an offset index but no time index, its copy gets no time index.
    """
    has_times = segment.sibling("timeindex") or not segment.sibling("index")
    return {"index", "timeindex", "txnindex"} if has_times else {"index", "txnindex"}


class SegmentWriter:
    """Writes a segment to a folder, with indexes of the given `kinds` (index, timeindex, txnindex).

    Use it as a context manager: the indexes are written at the end of the block, if it succeeds. An empty transaction
    index is not written. If the segment would exceed `most_bytes`, its last batches are written to a second segment.
    `pause` closes the file until the next batch, for callers that write many segments at once.
    """

    def __init__(
        self,
        folder: Path,
        base_offset: int,
        kinds: set[str],
        transactions: OpenTransactions | None = None,
        *,
        most_bytes: int | None = None,
    ) -> None:
        self.folder = folder
        self.kinds = kinds
        self.transactions = transactions or OpenTransactions()
        self.most_bytes = most_bytes
        self.bytes = 0
        """The size of all batches so far; `size` is the size of the current segment."""
        self._begin(base_offset)

    def _begin(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.path = self.folder / segment_file(base_offset, "log")
        self.size = 0
        self._since_entry = 0
        self._offsets = bytearray()
        self._times = bytearray()
        self._aborted = bytearray()
        self._latest = (-1, base_offset)
        """The latest timestamp so far, and the last offset of the batch that has it."""
        self._last_time = -1

    def __enter__(self) -> "SegmentWriter":
        self._file = self.path.open("wb")
        return self

    def pause(self) -> None:
        self._file.close()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()
        if kind is None:
            self._end()

    def append(self, batch: RecordBatch, records: int, marker: int | None = None) -> None:
        """Write a batch, and add index entries for it. Offsets must ascend. See `OpenTransactions.see`."""
        data = batch.encode()
        if self.most_bytes is not None and self.size and self.size + len(data) > self.most_bytes:
            self.__exit__(None, None, None)
            self._begin(batch.base_offset)
            self.__enter__()
        if batch.max_timestamp > self._latest[0]:
            self._latest = (batch.max_timestamp, batch.last_offset)
        if self._since_entry > _INTERVAL:
            self._offsets += OffsetIndex.LAYOUT.pack(batch.last_offset - self.base_offset, self.size)
            self._time_entry()
            self._since_entry = 0
        aborted = self.transactions.see(batch, records, marker)
        if aborted:
            self._aborted += _entry(aborted)
        if self._file.closed:
            self._file = self.path.open("ab")
        self._file.write(data)
        self.size += len(data)
        self.bytes += len(data)
        self._since_entry += len(data)

    def _time_entry(self) -> None:
        timestamp, offset = self._latest
        if timestamp > self._last_time:
            self._times += TimeIndex.LAYOUT.pack(timestamp, offset - self.base_offset)
            self._last_time = timestamp

    def _end(self) -> None:
        self._time_entry()
        files = {"index": self._offsets, "timeindex": self._times, "txnindex": self._aborted}
        for kind, data in files.items():
            if kind in self.kinds and (data or kind != "txnindex"):
                (self.folder / segment_file(self.base_offset, kind)).write_bytes(data)


def single_batches(batch: RecordBatch, count: int) -> Iterator[tuple[RecordBatch, int]]:
    """Yield (batch, number of records). An uncompressed message set (v0 or v1) is split into single messages."""
    if count == 1 or batch.compression != "none" or batch.record_format.records is not None:
        yield batch, count
    else:
        for each in read_batches(batch.encode(), batch.record_format, only=True):
            yield each, 1


def _entry(aborted: AbortedTransaction) -> bytes:
    cls = kafka_messages()["AbortedTxn"]
    version = cls.VERSIONS.highest
    return version.to_bytes(2, "big") + cls(**aborted._asdict()).encode(version)


def transaction_index(segment: Segment, transactions: OpenTransactions, format: Any = "auto") -> bytes:
    """Return the bytes of a segment's transaction index.

    `transactions` contains the transactions that are open before the segment. This function updates it. Raises
    LogError at an invalid batch.
    """
    data = bytearray()
    for batch in segment.batches(format=format):
        if batch.is_transactional or batch.is_control:
            aborted = transactions.see(batch, 0 if batch.is_control else len(batch))
            if aborted:
                data += _entry(aborted)
    return bytes(data)
