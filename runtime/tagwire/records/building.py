"""Build batches of any format from records.

A builder collects the records and properties of a batch, computes all deltas, lengths and checksums, and encodes the
batch. In message set formats, a compressed batch is a single wrapper message. Uncompressed records become consecutive
messages. The builder returns them as one object (`MessageSet`), but a reader returns one batch per message.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tagwire.arguments import check_type
from tagwire.errors import EncodeError
from tagwire.layout import Layout
from tagwire.message.binding import engine_methods, first_use
from tagwire.message.engines import DisagreementError
from tagwire.message.record_format import RecordFormat
from tagwire.records.batch import RecordBatch, own_batch
from tagwire.records.building_values import (
    batch_attributes,
    check_kinds,
    check_properties,
    codec_of,
    numbers_of,
    put_headers_in_order,
    records_in_python,
)
from tagwire.records.format import Format
from tagwire.records.format_set import format_of
from tagwire.records.message_sets import build_messages
from tagwire.records.native import (
    Written,
    gathered,
    gathering,
    write_natively,
    written_of,
)
from tagwire.records.record import Header, Record
from tagwire.text_format import count, got
from tagwire.wire.compression import compress

if TYPE_CHECKING:
    from tagwire._engine import Gathering
    from tagwire._records import RecordRun

AT_ONCE: Final = 1 << 14
"""The maximum number of `Record` objects to keep in memory at the same time."""
_INDEX: Final = re.compile(r"^records\[(\d+)\]")


class BatchBuilder:
    """Builds a batch of records: call `append` for each record, and then `build`.

    `compression` is "none", "gzip", "snappy", "lz4" or "zstd". Timestamps are in milliseconds since 1970; -1 means no
    timestamp. A property for which the format has no field must keep its default: -1, False or None.
    """

    __slots__ = (
        "__weakref__",
        "_gathering",
        "_quick",
        "_records",
        "append_time",
        "as_read",
        "attribute_bits",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "compression",
        "delete_horizon_ms",
        "format",
        "has_attributes",
        "ignore_message_attributes",
        "is_control",
        "is_transactional",
        "last_offset",
        "max_timestamp",
        "partition_leader_epoch",
        "producer_epoch",
        "producer_id",
        "timestamp_type",
        "wrapper_key",
    )
    # `__slots__` speeds up `append`, which is called for each record.

    def __init__(
        self,
        format: "str | Format | type[RecordFormat] | Layout" = "v2",
        *,
        compression: str = "none",
        timestamp_type: str = "create",
        append_time: int = -1,
        base_offset: int | None = None,
        last_offset: int | None = None,
        partition_leader_epoch: int = -1,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        is_transactional: bool = False,
        is_control: bool = False,
        delete_horizon_ms: int | None = None,
        base_timestamp: int | None = None,
        max_timestamp: int | None = None,
        ignore_message_attributes: bool | None = None,
        as_read: bool = False,
        attribute_bits: int = 0,
        wrapper_key: bytes | None = None,
    ) -> None:
        """Set the properties of the batch. By default, offsets and timestamps are taken from the records.

        `append_time` is the broker's time, for `timestamp_type="append"`. Raises FormatError for an unknown format.

        The last three arguments are for copying a batch. `as_read` allows a null value without the tombstone flag,
        which producers must not write. `attribute_bits` are the original batch's unnamed attribute bits, and
        `wrapper_key` is the key of its wrapper message.
        """
        self.format = format_of(format)
        self._quick = self.format.plans.quick
        self._gathering: Gathering | None = None
        self._records: list[Record] | None = None
        self.has_attributes: bool | None = None
        self.compression = compression
        self.timestamp_type = timestamp_type
        self.append_time = append_time
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.delete_horizon_ms = delete_horizon_ms
        self.ignore_message_attributes = ignore_message_attributes
        self.as_read = as_read
        self.attribute_bits = attribute_bits
        self.wrapper_key = wrapper_key
        self.base_timestamp = base_timestamp
        self.max_timestamp = max_timestamp
        self.partition_leader_epoch = partition_leader_epoch
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.is_transactional = is_transactional
        self.is_control = is_control

    @first_use(engine_methods)
    def append(
        self,
        key: bytes | None = None,
        value: bytes | None = None,
        *,
        timestamp: int = -1,
        headers: Iterable[Header] = (),
        offset: int | None = None,
        tombstone: bool | None = None,
        attributes: int = 0,
    ) -> "BatchBuilder":
        """Add a record. Its offset defaults to the previous record's offset plus one."""
        is_first = self._records is None and self._gathering is None
        if offset is None:
            offset = self.base_offset or 0 if is_first or not self.records else self._next_offset()
        record = Record(offset, timestamp, key, value, headers, attributes=attributes, tombstone=tombstone)
        if is_first:
            self._gathering = gathering(self.format, record, *self.bases(record))
        if not is_first or self._gathering is None:
            self.records.append(record)
        return self

    def _next_offset(self) -> int:
        last = self.records[-1].offset
        if not isinstance(last, int):
            self.check_kinds_of(self.records)
        return last + 1

    def extend(self, records: Iterable[Record]) -> "BatchBuilder":
        """Add existing records, with their own offsets and timestamps."""
        check_type("records", records, Iterable, "a list of records")
        self.records.extend(records)
        return self

    @property
    def records(self) -> list[Record]:
        """The records so far, as a list that callers may modify. The first access creates an object for each record."""
        if self._records is None:
            self._records = [] if self._gathering is None else gathered(self.format, self._gathering)
            self._gathering = None
        return self._records

    @property
    def size(self) -> int:
        """The exact size in bytes of the batch so far, before compression.

        If the data can't be compressed, the built batch can be slightly larger. Computing the size takes as long as
        `build`, except for v2 batches whose records were all added by `append` with the native engine. Raises
        EncodeError like `build`.
        """
        found, plans = self._gathering, self.format.plans
        # The gathered bytes depend on the base offset and timestamp, which may have changed since.
        if found is not None and plans.quick and found.inputs == plans.inputs({}, *self.bases(self.first())):
            return found.size
        if self.format.records is None:
            return BatchBuilder(self.format, as_read=self.as_read).extend(self.records).build().size
        compression, self.compression = self.compression, "none"
        try:
            return self.build().size
        finally:
            self.compression = compression

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self.records) if self._gathering is None else len(self._gathering)

    def __getstate__(self) -> Any:
        _ = self.records  # creates record objects, because the native engine's data can't be copied
        return super().__getstate__()

    @first_use(engine_methods)
    def build(self) -> RecordBatch:
        """Return the batch. Raises EncodeError with the record's path for values that the format can't represent."""
        check_properties(self)
        return self.batch() if self.format.records is not None else build_messages(self, iter(()))

    def build_of(self, records: Iterator[Record], *, has_attributes: bool = True) -> RecordBatch:
        """Build a batch of these records. At most a few thousand record objects are in memory at a time.

        If the format has the bit `ignore_message_attributes`, records are written with attributes only if
        `has_attributes` is true. Raises EncodeError for values that the format can't represent.
        """
        self._records = list(islice(records, AT_ONCE))
        if len(self._records) < AT_ONCE:
            return self.build()
        check_properties(self)
        self.has_attributes = has_attributes
        self.base_offset, self.base_timestamp = self.bases(self._records[0])
        if self.format.records is None:
            return build_messages(self, records)
        header = self.header(self.base_offset, self.base_timestamp)
        base = self.base_offset, self.base_timestamp
        written, count = self.in_parts(records, lambda: self.written(header, *base))
        return self.batch(written, count)

    def in_parts(self, more: Iterator[Record], write: Callable[[], Written]) -> tuple[Written, int]:
        """Encode the builder's records, and then those in `more`. Return (encoded records, number of records).

        `write` is called for each chunk. It encodes the records that the builder contains at that time.
        """
        data, count, last, latest = bytearray(), 0, -1, -1
        while True:
            try:
                self.check_records()
                part = write()
            except EncodeError as error:
                raise _later(error, count) from None
            data += part.data
            count += len(self.records)
            last, latest = max(last, part.last_offset), max(latest, part.max_timestamp)
            if len(self.records) < AT_ONCE or not (following := list(islice(more, AT_ONCE))):
                return Written(bytes(data), last, latest), count
            self._records = following

    def build_run(self, run: "RecordRun") -> RecordBatch:
        """Return a batch with the records of `run`, which native code has already encoded."""
        check_properties(self)
        self.base_timestamp = run.base_timestamp
        return self.batch(Written(run.data, run.last_offset, run.max_timestamp), len(run))

    def check_records(self) -> None:
        if not {*map(type, self._records or ())} <= {Record}:
            for index, record in enumerate(self.records):
                if Record not in type(record).__mro__:
                    self.fail(f"records[{index}]", f"expected a Record, got {got(record)}")

    def fail(self, path: str, reason: str) -> NoReturn:
        raise EncodeError(reason, message_name=self.format.name, version=None, path=path)

    def batch(self, written: Written | None = None, count: int = 0) -> RecordBatch:
        """Return a batch of the builder's records or, if `written` is given, of the `count` records encoded in it."""
        format = self.format
        base_offset, base_timestamp = self.bases(self.first())
        header = self.header(base_offset, base_timestamp)
        codec = codec_of(self)
        found = self.written(header, base_offset, base_timestamp) if written is None else written
        last = found.last_offset if self.last_offset is None else self.last_offset
        header |= self.values(last_offset_delta=last - base_offset)
        item = format.fields.get("max_timestamp")
        if item is not None:
            top = self.top(found.max_timestamp)
            header[item.name] = top - base_timestamp if item.relative_to else top
        header["payload"] = found.data if codec == "none" else compress(codec, found.data)
        if "count" in format.fields:
            header[format.fields["count"].name] = len(self) if written is None else count
        return own_batch(format, format.encode_header(header))

    def header(self, base_offset: int, base_timestamp: int) -> dict[str, Any]:
        attributes = batch_attributes(self)
        return self.values(
            base_offset=base_offset, base_timestamp=base_timestamp, attributes=attributes, **numbers_of(self)
        )

    def top(self, highest: int) -> int:
        """Return the header's maximum timestamp. If not set, it is the append time or, for create times, `highest`."""
        if self.max_timestamp is not None:
            return self.max_timestamp
        return self.append_time if self.timestamp_type == "append" else highest

    def written(self, header: dict[str, Any], base_offset: int, base_timestamp: int) -> Written:
        """Encode the records, natively if possible. For an invalid record, the interpreter raises the exact error."""
        if self._gathering is not None:
            found = written_of(self.format, self._gathering, header, base_offset, base_timestamp)
            if found is not None:
                return found
        in_python = partial(records_in_python, self, header, base_offset, base_timestamp)
        return self.encoded(header, base_offset, base_timestamp, in_python)

    def encoded(
        self, header: dict[str, Any], base_offset: int, base_timestamp: int, in_python: Callable[[], bytes]
    ) -> Written:
        """Encode the record objects natively if possible, and otherwise with `in_python`."""
        written: Written | None = None
        must_fail = False
        # Sorting fails if a header is invalid. The code below raises the exact error.
        with suppress(TypeError, ValueError, AttributeError):
            put_headers_in_order(self.format, self.records)
            # Native code does not write the append time of single messages.
            if self.format.records is not None or self.timestamp_type == "create":
                written, must_fail = write_natively(self.format, self.records, header, base_offset, base_timestamp)
        if written is not None and self.records:
            return written
        self.check_kinds_of(self.records)
        data = in_python()
        if must_fail:
            raise DisagreementError(self.format.layout, count(len(self.records), "record"))
        last = max((record.offset for record in self.records), default=base_offset)
        return Written(data, last, max((record.timestamp for record in self.records), default=-1))

    def check_kinds_of(self, records: list[Record]) -> None:
        self.of_each(partial(check_kinds, self.format), records)

    def of_each(self, make: Callable[[Record], Any], records: list[Record]) -> list[Any]:
        """Call `make` for each record, and return the results. Add the record's index to the path of an EncodeError."""
        results: list[Any] = []
        try:
            for record in records:
                results.append(make(record))
        except EncodeError as error:
            self.fail(f"records[{len(results)}].{error.path}", error.reason)
        return results

    def first(self) -> Record | None:
        if self._gathering is not None:
            return Record(*self._gathering.first, None, None)  # callers read only the record's offset and timestamp
        return self.records[0] if self.records else None

    def bases(self, first: Record | None) -> tuple[int, int]:
        """Return the base offset and base timestamp of a batch whose first record is `first`."""
        if first is not None:
            self.check_kinds_of([first])
        offset, timestamp = self.base_offset, self.base_timestamp
        if offset is None:
            offset = 0 if first is None else first.offset
        if timestamp is None:
            timestamp = self.delete_horizon_ms
        if timestamp is None:
            timestamp = -1 if first is None else first.timestamp
        return offset, timestamp

    def values(self, **roles: int) -> dict[str, Any]:
        """Replace role names, such as `base_offset`, with the format's field names. Omit roles that have no field."""
        fields = self.format.fields
        return {fields[role].name: value for role, value in roles.items() if role in fields}


def _later(error: EncodeError, before: int) -> EncodeError:
    match = _INDEX.match(error.path)
    path = f"records[{before + int(match[1])}]{error.path[match.end() :]}" if match else error.path
    return EncodeError(error.reason, message_name=error.message_name, version=error.version, path=path)


def build(
    records: Iterable[Record], format: "str | Format | type[RecordFormat] | Layout" = "v2", **batch: Any
) -> RecordBatch:
    """Build a batch of these records. Keyword arguments are passed to `BatchBuilder`.

    Raises EncodeError for values that can't be represented.
    """
    return BatchBuilder(format, **batch).extend(records).build()
