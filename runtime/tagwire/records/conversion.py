"""Convert a batch to another format, and report what was lost.

Each value that the target format can't represent is reported. A conversion without losses is reversible.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from tagwire.arguments import check_type
from tagwire.errors import EncodeError
from tagwire.interpreter.cursor import key_of
from tagwire.layout import Fixed, Layout, Sized, Varint
from tagwire.message.record_format import RecordFormat
from tagwire.records.batch import RecordBatch
from tagwire.records.building import AT_ONCE, BatchBuilder
from tagwire.records.building_values import IGNORED, OPTIONAL
from tagwire.records.format import Format, without_named
from tagwire.records.format_set import format_of
from tagwire.records.record import Header, Record
from tagwire.text_format import shown
from tagwire.wire.compression import CODEC_NAMES
from tagwire.wire.types import WireType

_NO_FIELD: Final = "that format has no field for it"


class RecordLoss(NamedTuple):
    """A value that was lost in a conversion, because the target format can't represent it.

    `path` is the path of the field (`records[3].headers[0].value`), `value` the lost value, and `reason` the cause.
    """

    path: str
    value: Any
    reason: str

    def error(self, name: str, which: str) -> EncodeError:
        """Return the EncodeError for this loss in the message or format `name`. `which` is part of its text."""
        reason = f"is {shown(self.value)}, which {which}: {self.reason}"
        return EncodeError(reason, message_name=name, version=None, path=self.path)

    def __repr__(self) -> str:
        return f"RecordLoss({self.path!r}, {shown(self.value)}, {self.reason!r})"


def convert(
    batch: RecordBatch,
    to: "str | Format | type[RecordFormat] | Layout",
    on_loss: str = "report",
    *,
    compression: str | None = None,
) -> tuple[RecordBatch, tuple[RecordLoss, ...]]:
    """Convert a batch to another format; return the new batch and the losses.

    `compression` is the codec of the new batch; by default, the codec does not change. With `on_loss="error"`, the
    first loss raises an EncodeError. Raises FormatError for an unknown format, and DecodeError for invalid records.
    """
    check_type("batch", batch, RecordBatch, "a batch from `read_batches` or `build`")
    check_on_loss(on_loss)
    target = format_of(to)
    losses: list[RecordLoss] = []
    converted = converted_batch(batch, target, losses.append, compression)
    if losses and on_loss == "error":
        raise losses[0].error(target.name, f"{target.name} can't represent")
    return converted, tuple(losses)


def check_on_loss(on_loss: str) -> None:
    """Raise ValueError unless the argument `on_loss` is "report" or "error"."""
    if on_loss not in ("report", "error"):
        raise ValueError(f"on_loss: expected 'report' or 'error', got {on_loss!r}")


def converted_batch(
    batch: RecordBatch, target: Format, report: Callable[[RecordLoss], None], compression: str | None = None
) -> RecordBatch:
    """Convert like `convert`, but call `report` with each loss instead of returning the losses."""
    return _Conversion(batch, target, compression or batch.compression, report).converted()


def left_out(batch: RecordBatch, target: Format) -> str:
    """Return the reason why a batch can't be converted to a format, or "" if it can."""
    if batch.is_control and "is_control" not in target.bits:
        return "that format has no transaction markers, and would read them as records: the batch is left out"
    if target.records is None and not batch.is_control and len(batch) == 0:
        return "an empty batch has no counterpart: older formats have no batches without records"
    return ""


class _Conversion:
    def __init__(self, batch: RecordBatch, target: Format, codec: str, report: Callable[[RecordLoss], None]) -> None:
        self.batch = batch
        self.target = target
        self.codec = codec
        self.report = report
        self.has_records = batch._format.records is not None  # pyright: ignore[reportPrivateUsage]
        self.has_headers = "headers" in target.has
        self.has_tombstone = "is_tombstone" in target.record_bits
        self.has_timestamps = "base_timestamp" in target.fields
        self.hides_timestamps = False
        self.is_plain = False
        """Whether records without headers, attributes and tombstone flag can be copied unchanged."""
        self.header_key = target.header_key
        header_value = target.header_types.get("value")
        self.null_headers = isinstance(header_value, Sized) and header_value.nullable

    def lose(self, path: str, value: Any, reason: str) -> None:
        self.report(RecordLoss(path, value, reason))

    def converted(self) -> RecordBatch:
        batch = self.batch
        settings: dict[str, Any] = {"compression": self.compression()}
        for name, usual, stored_as in OPTIONAL:
            if (value := getattr(batch, name)) == usual:
                continue
            if stored_as in self.target.bits or stored_as in self.target.fields:
                settings[name] = value
            else:
                self.lose(name, value, _NO_FIELD)
        if "timestamp_type" in settings:
            settings["append_time"] = batch.max_timestamp
        settings |= self.unnamed(is_compressed=settings["compression"] != "none")
        is_message = self.target.records is None and settings["compression"] == "none"
        self.hides_timestamps = is_message and settings.get("timestamp_type") == "append"
        self.is_plain = not (self.hides_timestamps or self.has_tombstone)
        settings |= self.timestamps((each.timestamp for each in batch.stored()), settings)
        records = (self.record(index, record) for index, record in enumerate(batch.stored()))
        begun = list(islice(records, AT_ONCE))
        if len(begun) < AT_ONCE:
            last = begun[-1:]
            has_attributes = any(record.attributes for record in begun)
        else:
            last = list(deque(batch, 1))
            has_attributes = self.target.records is not None and any(self.attributes(record) for record in batch)
        settings |= self.extent(begun[:1], last) | self.attributes_bit(has_attributes=has_attributes)
        builder = BatchBuilder(self.target, as_read=True, **settings)
        return builder.build_of(chain(begun, records), has_attributes=has_attributes)

    def unnamed(self, *, is_compressed: bool) -> dict[str, Any]:
        """Return builder arguments to keep attribute bits that the format doesn't name, and a wrapper message's key.

        If the new batch can't store them, return {} and report them as losses.
        """
        found = {"attribute_bits": self.batch.unnamed_attributes, "wrapper_key": self.batch.wrapper_key}
        if self.batch.format == self.target.name and (self.has_records or is_compressed):
            return found
        for name, path in (("attribute_bits", "attributes"), ("wrapper_key", "key")):
            if found[name] not in (0, None):
                self.lose(path, found[name], _NO_FIELD)
        return {}

    def timestamps(self, times: Iterable[int], settings: dict[str, Any]) -> dict[str, int]:
        """Return the builder argument `max_timestamp` as a dict, or {} if the argument isn't needed.

        The argument is needed if the batch header's value differs from the highest timestamp of the records. If the
        target format can't store the value, return {} and report a loss.
        """
        if self.has_records and self.target.records is not None:
            return {}
        batch, first, highest = self.batch, None, None
        for time in times:
            first = time if first is None else first
            highest = time if highest is None else max(highest, time)
        if first is None or highest is None:
            return {}
        if self.has_records and batch.delete_horizon_ms is None and batch.base_timestamp != first:
            self.lose("base_timestamp", batch.base_timestamp, "messages have only their own timestamps")
        is_kept = batch.max_timestamp == highest or "append_time" in settings
        if is_kept or "base_timestamp" not in batch.record_format.fields:
            return {}
        if self.has_timestamps and (self.target.records is not None or settings["compression"] != "none"):
            return {"max_timestamp": batch.max_timestamp}
        self.lose("max_timestamp", batch.max_timestamp, "messages have only their own timestamps")
        return {}

    def attributes_bit(self, *, has_attributes: bool) -> dict[str, Any]:
        """Return the builder argument `ignore_message_attributes` in a dict, or {} unless both formats have the bit."""
        if IGNORED not in self.batch.record_format.bits:
            return {}
        is_set = bool(self.batch.attributes & self.batch.record_format.bits[IGNORED].mask)
        if IGNORED in self.target.bits:
            return {IGNORED: is_set}
        if not is_set and not has_attributes:
            self.lose(IGNORED, False, "that format has no field for it; a conversion back sets it")
        return {}

    def compression(self) -> str:
        name = self.codec
        if name in (codec.partition("-")[0] for codec in self.target.codecs):
            return name
        if name not in CODEC_NAMES:
            expected = f"expected one of {', '.join(CODEC_NAMES)}, got {shown(name)}"
            raise EncodeError(expected, message_name=self.target.name, version=None, path="compression")
        self.lose("compression", name, "that format does not have the codec; the records are not compressed")
        return "none"

    def extent(self, first: list[Record], last: list[Record]) -> dict[str, Any]:
        """Return the builder arguments that set the offsets and timestamps in the header of the new batch."""
        batch = self.batch
        if self.target.records is not None:
            offsets = {"base_offset": batch.base_offset, "last_offset": self.last_offset(last)}
            if not self.has_records:
                return offsets
            return offsets | {"base_timestamp": batch.base_timestamp, "max_timestamp": self.max_timestamp()}
        if not last:
            self.lose("records", (), "an empty batch has no counterpart: older formats have no batches without records")
            return {"compression": "none"}
        if last[0].offset != batch.last_offset:
            self.lose("last_offset", batch.last_offset, "a message set ends with its last message")
        if first[0].offset != batch.base_offset:
            self.lose("base_offset", batch.base_offset, "a message set begins with its first message")
        return {}

    def last_offset(self, last: list[Record]) -> int:
        """Return the batch's last offset or, if it doesn't fit in the target's field, the last record's offset."""
        batch = self.batch
        low, high = _range(self.target, "last_offset_delta")
        if low <= batch.last_offset - batch.base_offset <= high:
            return batch.last_offset
        reason = f"last_offset_delta can only be from {low} to {high}, so the converted batch ends with its last record"
        self.lose("last_offset", batch.last_offset, reason)
        return last[0].offset if last else batch.base_offset

    def max_timestamp(self) -> int:
        """Return the batch's highest timestamp, or the nearest value that fits in the target's field."""
        batch, item = self.batch, self.target.fields.get("max_timestamp")
        base = batch.base_timestamp if item is not None and item.relative_to else 0
        low, high = _range(self.target, "max_timestamp")
        nearest = min(max(batch.max_timestamp - base, low), high) + base
        if nearest != batch.max_timestamp:
            self.lose("max_timestamp", batch.max_timestamp, f"{nearest} is the nearest value that fits that format")
        return nearest

    def record(self, index: int, record: Record) -> Record:
        has_own = record.headers or record.attributes or record.tombstone is not None
        if self.is_plain and not has_own and (self.has_timestamps or record.timestamp == -1):
            return record  # most records need no change
        path = f"records[{index}]"
        headers = list(self.headers(path, record))
        order = self.target.header_order
        if order is not None:
            headers.sort(key=lambda header: key_of(order, {order.field: header[0]}))
        changes: dict[str, Any] = {"headers": tuple(headers)}
        if record.timestamp != -1 and not self.has_timestamps:
            self.lose(f"{path}.timestamp", record.timestamp, "messages have no timestamp in that format")
            changes["timestamp"] = -1
        if self.hides_timestamps and record.timestamp != self.batch.max_timestamp:
            self.lose(f"{path}.timestamp", record.timestamp, "a message has no timestamp other than its append time")
        attributes = changes["attributes"] = self.attributes(record)
        if attributes != record.attributes:
            reason = "these bits have another meaning in that format"
            if self.target.records is None:
                reason = "records have no attributes in that format"
            self.lose(f"{path}.attributes", record.attributes, reason)
        changes |= self.tombstone(path, record)
        return record.replace(**changes)

    def attributes(self, record: Record) -> int:
        """Return a record's attributes byte, but clear the bits that the target format's encoder sets itself."""
        is_none = self.target.records is None or not record.attributes
        return 0 if is_none else without_named(record.attributes, self.target.record_bits)

    def tombstone(self, path: str, record: Record) -> dict[str, Any]:
        if self.has_tombstone:
            return {"tombstone": record.is_tombstone}
        if record.tombstone and record.value is not None:
            self.lose(f"{path}.value", record.value, "a tombstone has a null value in that format")
            return {"tombstone": None, "value": None}
        if record.tombstone is False and record.value is None:
            self.lose(f"{path}.tombstone", False, "a null value is a tombstone in that format")
        return {"tombstone": None}

    def headers(self, path: str, record: Record) -> Iterator[Header]:
        seen: set[Any] = set()
        for index, (key, value) in enumerate(record.headers):
            at = f"{path}.headers[{index}]"
            if not self.has_headers:
                self.lose(at, (key, value), "records have no headers in that format")
            elif not isinstance(key, self.header_key):
                kind = "int32" if self.header_key is int else "text"
                self.lose(at, (key, value), f"header keys are {kind} there")
            elif value is None and not self.null_headers:
                self.lose(at, (key, value), "a header's value can't be null there")
            elif self.header_key is int and key in seen:
                self.lose(at, (key, value), "that format allows each header key once")
            else:
                seen.add(key)
                yield key, value


def _range(format: Format, role: str) -> tuple[int, int]:
    """Return the range of values that fit in a field. If the format does not have the field, return the int64 range."""
    item = format.fields.get(role)
    kind = None if item is None else item.type
    code = kind.wire if isinstance(kind, Fixed) else kind
    return (code.low, code.high) if isinstance(code, Varint | WireType) else (-(1 << 63), (1 << 63) - 1)
