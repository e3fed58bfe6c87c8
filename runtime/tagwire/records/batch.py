"""A batch of records. It keeps its original bytes, decodes its header immediately, and its records when needed."""

from collections.abc import Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tagwire.errors import DecodeError, LimitError
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.message.binding import engine_methods, first_use
from tagwire.records.format import Format, without_named
from tagwire.records.record import Record
from tagwire.records.walk import Walk, decompressed, max_timestamp

if TYPE_CHECKING:
    from tagwire.interpreter.cursor import Good
    from tagwire.records.message_sets import Messages


# Enforce the limits on records and headers while a batch is read.
#
# Records are read one at a time, so a batch that exceeds a limit is never in memory as a whole.


def bounded(records: Iterator[Record], stated: int, name: str, offset: int, limits: Limits) -> Iterator[Record]:
    """Yield the records of the batch at `offset`. Raises LimitError as soon as a limit is exceeded."""
    most = limits.records
    if most is not None and stated > most:
        raise _beyond(name, "", offset, f"{stated} records", "records", most)
    for index, record in enumerate(records):
        if most is not None and index >= most:
            raise _beyond(name, f"[{index}]", offset, f"{index + 1} records", "records", most)
        if limits.headers is not None and len(record.headers) > limits.headers:
            path, found = f"[{index}].headers", f"{len(record.headers)} headers"
            raise _beyond(name, path, offset, found, "headers", limits.headers)
        yield record


def _beyond(name: str, path: str, offset: int, found: str, limit: str, most: int) -> LimitError:
    return LimitError(
        message_name=name,
        version=None,
        path=f"records{path}",
        offset=offset,
        found=found,
        expected=f"at most {most} (Limits.{limit})",
    )


def read_batch(
    buf: bytes, pos: int, format: Format, limits: Limits, *, outline: bool = False, strict: bool = True
) -> "RecordBatch":
    """Return the batch at `pos` (in message set formats, the message). Verify its checksum unless `outline` is true.

    With `strict=False`, iterating over the batch reads its records as leniently as Kafka does. Raises LimitError if a
    limit is exceeded, and DecodeError for invalid bytes, with an offset that counts from the start of `buf`.
    """
    plan = format.plans.outline if outline else format.plans.header
    layout = format.outline if outline else format.header
    # Except in message set formats, a single bytes field contains all records. Decode it as a view, to avoid a copy.
    has_records = format.records is not None
    if plan is not None:
        header, end = plan.decode_from(buf, pos, views=has_records, limits=limits)
    else:
        from tagwire.interpreter.reader import decode  # not needed with the native engine

        raw = memoryview(buf) if has_records else buf
        header, end = decode(layout, buf, raw=raw, offset=pos, whole=False, strict=True, limits=limits)
    return RecordBatch(format, header, buf, pos, end, limits, strict=strict)


def own_batch(format: Format, data: bytes) -> "RecordBatch":
    """Return a RecordBatch for `data`. Skips verification, because tagwire itself has just encoded these bytes."""
    plan = format.plans.header
    if plan is None:
        return read_batch(data, 0, format, DEFAULT_LIMITS)
    header = plan.decode_trusted(data, views=format.records is not None)
    return RecordBatch(format, header, data, 0, len(data), DEFAULT_LIMITS)


class RecordBatch:
    """A batch of any format. In message set formats, a batch is a single message, or a wrapper of compressed messages.

    Iteration yields `Record`s. An attribute that the format does not have is -1, False or None.
    """

    __slots__ = ("__dict__", "_begun", "_buf", "_end", "_format", "_limits", "_quick", "_start", "_strict")

    def __init__(
        self,
        format: Format,
        header: dict[str, Any],
        buf: bytes,
        start: int,
        end: int,
        limits: Limits,
        *,
        strict: bool = True,
    ) -> None:
        self._format = format
        self.__dict__["_header"] = header
        self._buf = buf
        self._start = start
        self._end = end
        self._limits = limits
        self._strict = strict
        self._begun: Walk | None = None
        self._quick = format.plans.quick if strict else None

    @cached_property
    def _header(self) -> dict[str, Any]:
        """The header's values by name."""
        return read_batch(self._buf, self._start, self._format, self._limits)._header

    @property
    def format(self) -> str:
        """The name of the format."""
        return self._format.name

    @property
    def record_format(self) -> Format:
        """The format as a `Format` object."""
        return self._format

    @property
    def limits(self) -> Limits:
        """The limits for reading the records."""
        return self._limits

    @property
    def magic(self) -> int:
        """The value of the magic byte."""
        return self._format.role(self._header, "magic")

    @property
    def attributes(self) -> int:
        """The batch's attribute bits, as an int."""
        return self._format.role(self._header, "attributes")

    @property
    def unnamed_attributes(self) -> int:
        """The attribute bits that have no name in the format.

        For an uncompressed message, this is always 0, because its attribute bits belong to its record.
        """
        is_record = self._format.records is None and self.codec == "none"
        return 0 if is_record else without_named(self.attributes, self._format.bits)

    @property
    def wrapper_key(self) -> bytes | None:
        """The key of a wrapper (a message that wraps others). It is usually null. For other batches, this is None."""
        return None if self._format.records is not None or self.codec == "none" else self._header["key"]

    @property
    def compression(self) -> str:
        """The compression: none, gzip, snappy, lz4 or zstd."""
        return self.codec.partition("-")[0]

    @property
    def codec(self) -> str:
        """The codec's name in the spec, which distinguishes magic 0's variant of lz4 from standard lz4."""
        return self._format.codecs[self._format.flag(self._header, "compression")]

    @property
    def timestamp_type(self) -> str:
        """Where the timestamps come from: create (the producer) or append (the broker)."""
        return "append" if self._format.flag(self._header, "timestamp_type") else "create"

    @property
    def base_offset(self) -> int:
        """The first offset. For a wrapper, this is the offset of the first message inside.

        If the messages inside can't be read, this is the wrapper's own offset, and iterating over the wrapper raises
        the error.
        """
        return self._bounds[0]

    @property
    def last_offset(self) -> int:
        """The last offset, even if compaction has removed the record at that offset."""
        header = self._header
        # Clients often write 0 as a wrapper's offset, so use the offset of the last message inside.
        if self._format.records is None and not self._format.role(header, "base_offset"):
            return self._bounds[1]
        return self._format.role(header, "base_offset") + self._format.role(header, "last_offset_delta", 0)

    @property
    def base_timestamp(self) -> int:
        """The timestamp that the records' deltas are relative to. A v2 batch may store its delete horizon here."""
        return self._format.role(self._header, "base_timestamp")

    @property
    def max_timestamp(self) -> int:
        """The highest timestamp of the records, or the broker's append time."""
        return max_timestamp(self._format, self._header)

    @property
    def partition_leader_epoch(self) -> int:
        """The epoch of the partition leader, or -1 if the batch has none."""
        return self._format.role(self._header, "partition_leader_epoch")

    @property
    def producer_id(self) -> int:
        """The producer's ID, or -1 if the batch has none."""
        return self._format.role(self._header, "producer_id")

    @property
    def producer_epoch(self) -> int:
        """The producer's epoch, or -1 if the batch has none."""
        return self._format.role(self._header, "producer_epoch")

    @property
    def base_sequence(self) -> int:
        """The producer's sequence number of the first record, or -1 if the batch has none."""
        return self._format.role(self._header, "base_sequence")

    @property
    def is_transactional(self) -> bool:
        """Whether the batch is part of a transaction."""
        return bool(self._format.flag(self._header, "is_transactional"))

    @property
    def is_control(self) -> bool:
        """Whether this is a control batch, such as a transaction marker: see `tagwire.records.control`."""
        return bool(self._format.flag(self._header, "is_control"))

    @property
    def delete_horizon_ms(self) -> int | None:
        """When this batch's tombstones may be removed, in milliseconds since 1970, or None if no time is stored."""
        return self.base_timestamp if self._format.flag(self._header, "has_delete_horizon") else None

    @property
    def crc(self) -> int:
        """The stored checksum."""
        return int(self._header["crc"])

    @property
    def count(self) -> int | None:
        """The number of records according to the header, or None in formats whose header has no count."""
        return self._format.role(self._header, "count") if "count" in self._format.fields else None

    @property
    def size(self) -> int:
        """The size of the batch in bytes."""
        return self._end - self._start

    @property
    def records_size(self) -> int:
        """The size of the stored records in bytes, after compression. `size` also includes the header.

        In message set formats, `records_size` is the size of the whole message or, for a wrapper, of its compressed
        value.
        """
        if self._format.records is not None:
            return len(self._header["payload"])
        return self.size if self.codec == "none" else len(self._header["value"] or b"")

    @cached_property
    def _bounds(self) -> tuple[int, int]:
        """The offsets of the first and last message in a wrapper. For any other batch, both are its base offset."""
        own = self._format.role(self._header, "base_offset")
        try:
            return (own, own) if self._messages is None else self._messages.bounds
        except DecodeError:
            return own, own

    @cached_property
    def _messages(self) -> "Messages | None":
        """The messages inside a wrapper, or None for other batches."""
        if self._format.records is not None or self.codec == "none":
            return None
        from tagwire.records.message_sets import Messages

        deviated = None if self._strict else self._deviated
        return Messages(self._format, self._header, self.codec, self._start, self._limits, deviated)

    @first_use(engine_methods)
    def __iter__(self) -> Iterator[Record]:
        return self._bounded(self._records())

    def _bounded(self, records: Iterator[Record]) -> Iterator[Record]:
        if self._limits.records is None and self._limits.headers is None:
            return records
        stated = len(self) if "count" in self._format.fields else 0
        return bounded(records, stated, self.format, self._start, self._limits)

    def stored(self) -> Iterator[Record]:
        """Yield the records with their own timestamps, even if the broker's append time applies to the whole batch."""
        has_both = self._format.records is not None or self.codec != "none"
        return self._stored() if has_both and self.timestamp_type == "append" else iter(self)

    def _stored(self) -> Iterator[Record]:
        return self._bounded(self._records(stored=True))

    def _by_layout(self, index: int, pos: int, elements: int, good: "Good") -> Iterator[Record]:
        return self.walk().by_layout(index, pos, elements, good)

    def _deviated(self, error: DecodeError) -> None:
        """Called for each error that a lenient reader ignores. Subclasses override this method."""

    def _records(self, *, stored: bool = False) -> Iterator[Record]:
        if self._format.records is not None:
            walk, self._begun = self._begun or self.walk(), None
            walk.appended = None if stored else walk.appended
            return iter(walk) if self._strict else walk.leniently(self._deviated)
        if self._messages is not None:
            return self._messages.stored() if stored else iter(self._messages)
        from tagwire.records.message_sets import record_of

        return iter((record_of(self._format, self._header, self._header[self._format.fields["base_offset"].name]),))

    def walk(self) -> Walk:
        """Decompress the batch's records and return a `Walk` over them.

        Must not be called for messages of magic 0 and 1. Raises DecodeError if the records can't be decompressed, and
        LimitError if they exceed a limit.
        """
        payload = self._header["payload"]
        pos = self._end - len(payload)
        # A batch without records can be empty even if it is marked as compressed. Then there is nothing to decompress.
        if self.codec == "none" or not (len(payload) or self.count):
            return Walk(self._format, self._header, self._buf, pos, self._end, compressed_at=None, limits=self._limits)
        assert self._format.records is not None
        data = decompressed(self._format, self.codec, payload, pos, self._format.records.name, self._limits)
        return Walk(self._format, self._header, data, 0, len(data), compressed_at=pos, limits=self._limits)

    def __len__(self) -> int:
        """Return the number of records, counting them if the header has no count.

        Raises DecodeError if the batch is too small for its count, so that `list` does not allocate too much.
        """
        if "count" not in self._format.fields:
            return self._counted
        if self._quick is not None and (source := self._quick.source_of(self)) is not None:
            return source[3]  # the number of records
        # Keep the decompressed records, so that iterating after `len()` doesn't decompress them again.
        self._begun = self._begun or self.walk()
        return self._begun.count() or 0

    @cached_property
    def _counted(self) -> int:
        return sum(1 for _ in self)

    def encode(self) -> bytes:
        """Return the bytes of the batch, exactly as they were read or built."""
        return self._buf[self._start : self._end]

    def replace(self, **changes: int) -> "RecordBatch":
        """Return a copy with some header fields changed. The records are not decompressed.

        Raises EncodeError for a value that the format can't represent, or for a field that it does not have.
        """
        names = {role: item.name for role, item in self._format.fields.items()}
        header = self._header | {names.get(role, role): value for role, value in changes.items()}
        data = self._format.encode_header(header)
        return read_batch(data, 0, self._format, self._limits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecordBatch):
            return NotImplemented
        return (self.format, self.encode()) == (other.format, other.encode())

    def __hash__(self) -> int:
        return hash(self.encode())

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle or copy only this batch's bytes. In the copy, error positions count from the batch's first byte."""
        copied = partial(read_batch, outline=True, strict=self._strict)
        return copied, (self.encode(), 0, self._format, self._limits)

    def __repr__(self) -> str:
        what = f"{self.format} batch at offset {self._format.role(self._header, 'base_offset')}"
        return f"<{what}: {self.size} bytes, {self.compression}>"
