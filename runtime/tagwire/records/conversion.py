"""A batch of one format as one of another, and what could not come along.

Everything that the other format has a place for is carried; everything else is
reported, field by field, so that nobody learns of it from a missing record. A
conversion without losses can be undone: the way back gives the same records
and the same batch.
"""

from collections.abc import Iterator
from typing import Any

from tagwire.errors import EncodeError
from tagwire.interpreter.framed_cursor import key_of
from tagwire.layout import Array, Layout, Nested, Order, Sized
from tagwire.message.record_format import RecordFormat
from tagwire.records.batch import RecordBatch
from tagwire.records.building import BatchBuilder
from tagwire.records.format import Format
from tagwire.records.formats import format_of
from tagwire.records.record import Header, Record
from tagwire.records.walk import plain_attributes
from tagwire.text_format import shown

__all__ = ["RecordLoss", "convert"]


class RecordLoss:
    """Something that another format could not carry.

    `path` is that of the field (`records[3].headers[0].value`), `value` what
    stood there, `reason` why it was left behind.
    """

    __slots__ = ("path", "reason", "value")

    def __init__(self, path: str, value: Any, reason: str) -> None:
        self.path = path
        self.value = value
        self.reason = reason

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecordLoss):
            return NotImplemented
        return (self.path, self.value, self.reason) == (other.path, other.value, other.reason)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RecordLoss({self.path!r}, {shown(self.value)}, {self.reason!r})"


def convert(
    batch: RecordBatch,
    to: "str | Format | type[RecordFormat] | Layout",
    on_loss: str = "report",
    *,
    compression: str | None = None,
) -> tuple[RecordBatch, tuple[RecordLoss, ...]]:
    """The batch in another format, and what it lost on the way.

    `compression` is the codec to pack it with, that of the batch unless given.
    With `on_loss="error"` the first loss is an EncodeError instead. Raises
    FormatError for an unknown format, DecodeError where the batch's own records
    are at fault.
    """
    if on_loss not in ("report", "error"):
        raise ValueError(f"on_loss is {on_loss!r}; 'report' or 'error' was expected")
    target = format_of(to)
    converter = _Conversion(batch, target, compression or batch.compression)
    converted = converter.converted()
    if converter.losses and on_loss == "error":
        loss = converter.losses[0]
        reason = f"is {shown(loss.value)}, which {target.name} can't carry: {loss.reason}"
        raise EncodeError(reason, message_name=target.name, version=None, path=loss.path)
    return converted, tuple(converter.losses)


class _Conversion:
    def __init__(self, batch: RecordBatch, target: Format, codec: str) -> None:
        self.batch = batch
        self.target = target
        self.codec = codec
        self.losses: list[RecordLoss] = []
        self.has_records = batch._format.records is not None  # pyright: ignore[reportPrivateUsage]
        self.has_headers = "headers" in target.has
        self.has_tombstone = "is_tombstone" in target.record_bits
        self.has_timestamps = "base_timestamp" in target.fields
        self.header_key, self.null_headers, self.header_order = header_form(target)

    def lose(self, path: str, value: Any, reason: str) -> None:
        self.losses.append(RecordLoss(path, value, reason))

    def converted(self) -> RecordBatch:
        batch, bits, fields = self.batch, self.target.bits, self.target.fields
        settings: dict[str, Any] = {"compression": self.compression()}
        if batch.timestamp_type == "append" and self.carried("timestamp_type", "append", bits):
            settings |= {"timestamp_type": "append", "append_time": batch.max_timestamp}
        for name in ("is_transactional", "is_control"):
            if getattr(batch, name) and self.carried(name, True, bits):
                settings[name] = True
        if batch.delete_horizon_ms is not None and self.carried(
            "has_delete_horizon", True, bits, "delete_horizon_ms", batch.delete_horizon_ms
        ):
            settings["delete_horizon_ms"] = batch.delete_horizon_ms
        for name in ("partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence"):
            value = getattr(batch, name)
            if value != -1 and self.carried(name, value, fields):
                settings[name] = value
        records = [self.record(index, record) for index, record in enumerate(batch)]
        settings |= self.extent(records)
        return BatchBuilder(self.target, **settings).extend(records).build()

    def carried(self, name: str, value: Any, places: Any, path: str = "", lost: Any = None) -> bool:
        """Whether the target has a place of this name; what has none is lost."""
        if name not in places:
            self.lose(path or name, value if lost is None else lost, "it has no place there")
        return name in places

    def compression(self) -> str:
        name = self.codec
        if name in (codec.partition("-")[0] for codec in self.target.codecs):
            return name
        self.lose("compression", name, "the codec does not exist there; the records are not packed")
        return "none"

    def extent(self, records: list[Record]) -> dict[str, Any]:
        """Offsets, timestamps and records of the batch that its records alone do not give."""
        batch = self.batch
        if self.target.records is not None and self.has_records:
            return {
                "base_timestamp": batch.base_timestamp,
                "base_offset": batch.base_offset,
                "last_offset": batch.last_offset,
                "max_timestamp": batch.max_timestamp,
            }
        if self.target.records is not None:
            return {"base_offset": batch.base_offset, "last_offset": batch.last_offset}
        if not records:
            self.lose("records", (), "an empty batch is no message at all")
            return {"compression": "none"}
        if records[-1].offset != batch.last_offset:
            self.lose("last_offset", batch.last_offset, "a message set ends with its last message")
        if records[0].offset != batch.base_offset:
            self.lose("base_offset", batch.base_offset, "a message set begins with its first message")
        return {}

    # ------------------------------------------------------------ records

    def record(self, index: int, record: Record) -> Record:
        path = f"records[{index}]"
        headers = list(self.headers(path, record))
        order = self.header_order
        if order is not None:
            headers.sort(key=lambda header: key_of(order, {order.field: header[0]}))
        changes: dict[str, Any] = {"headers": tuple(headers)}
        if record.timestamp != -1 and not self.has_timestamps:
            self.lose(f"{path}.timestamp", record.timestamp, "messages have no timestamp there")
            changes["timestamp"] = -1
        if record.attributes and self.target.records is None:
            self.lose(f"{path}.attributes", record.attributes, "records have no attributes of their own there")
            changes["attributes"] = 0
        elif (free := plain_attributes(self.target, record.attributes)) != record.attributes:
            self.lose(f"{path}.attributes", record.attributes, "these bits say something else there")
            changes["attributes"] = free
        changes |= self.tombstone(path, record)
        return record.replace(**changes)

    def tombstone(self, path: str, record: Record) -> dict[str, Any]:
        if self.has_tombstone:
            return {"tombstone": record.is_tombstone}
        if record.tombstone and record.value is not None:
            self.lose(f"{path}.value", record.value, "a tombstone has a null value there")
            return {"tombstone": None, "value": None}
        if record.tombstone is False and record.value is None:
            self.lose(f"{path}.tombstone", False, "a null value is a tombstone there")
        return {"tombstone": None}

    def headers(self, path: str, record: Record) -> Iterator[Header]:
        seen: set[Any] = set()
        for index, (key, value) in enumerate(record.headers):
            at = f"{path}.headers[{index}]"
            if not self.has_headers:
                self.lose(at, (key, value), "records have no headers there")
            elif not isinstance(key, self.header_key):
                kind = "int32" if self.header_key is int else "text"
                self.lose(at, (key, value), f"header keys are {kind} there")
            elif value is None and not self.null_headers:
                self.lose(at, (key, value), "a header's value can't be null there")
            elif self.header_key is int and key in seen:
                self.lose(at, (key, value), "a header key stands once there")
            else:
                seen.add(key)
                yield key, value


def header_form(format: Format) -> tuple[type, bool, Order | None]:
    """The type of a format's header keys, whether a header's value may be null, and how headers ascend."""
    item = next((item for item in format.record.items if item.name == "headers"), None)
    if item is None or not isinstance(item.type, Array) or not isinstance(item.type.element, Nested):
        return str, False, None
    types = {part.name: part.type for part in item.type.element.struct.items}
    value = types.get("value")
    key = str if isinstance(types.get("key"), Sized) else int
    return key, isinstance(value, Sized) and value.nullable, item.type.order
