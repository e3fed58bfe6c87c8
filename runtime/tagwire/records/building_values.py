"""Convert the properties and records of a new batch to attribute bits, field values and bytes.

Values that the format can't represent raise EncodeError. In errors about a record, the path is relative to the record;
callers with several records add the index.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tagwire.errors import EncodeError
from tagwire.interpreter.cursor import key_of
from tagwire.interpreter.writer import LayoutWriter
from tagwire.records import record_items
from tagwire.records.format import Format
from tagwire.records.record import HeaderMap, Record, header_pairs
from tagwire.text_format import shown

if TYPE_CHECKING:
    from tagwire.records.building import BatchBuilder

IGNORED: Final = "ignore_message_attributes"
"""The name of the attribute bit, in a batch header, that means "the records have no attributes byte"."""
NULL_WITHOUT_TOMBSTONE: Final = (
    "expected True or None for a null value, got False: older readers would treat the record as a tombstone"
)
_INTEGERS: Final = ("base_offset", "last_offset", "base_timestamp", "max_timestamp", "delete_horizon_ms", "append_time")
_NUMBERS: Final = ("partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence")
OPTIONAL: Final[tuple[tuple[str, Any, str], ...]] = (
    ("timestamp_type", "create", "timestamp_type"),
    ("is_transactional", False, "is_transactional"),
    ("is_control", False, "is_control"),
    ("delete_horizon_ms", None, "has_delete_horizon"),
    *((name, -1, name) for name in _NUMBERS),
)
"""The properties that not all formats can store: name, default, and the attribute bit or field that stores it."""


def numbers_of(builder: "BatchBuilder") -> dict[str, int]:
    """Return the names and values of the header fields that don't depend on the records, such as `producer_id`."""
    return {name: getattr(builder, name) for name in _NUMBERS}


def _flags(builder: "BatchBuilder") -> dict[str, bool]:
    """Return the names and values of the attribute bits that don't depend on the records."""
    return {
        "is_transactional": builder.is_transactional,
        "is_control": builder.is_control,
        "has_delete_horizon": builder.delete_horizon_ms is not None,
    }


def check_properties(builder: "BatchBuilder") -> None:
    """Raise EncodeError for properties of the wrong type, and for those that the format can't represent."""
    _check_kinds(builder)
    for name, value in numbers_of(builder).items():
        if value != -1 and name not in builder.format.fields:
            builder.fail(name, f"expected -1, got {value}: {builder.format.name} has no field for it")
    for name, flag in _flags(builder).items():
        if flag and name not in builder.format.bits:
            builder.fail(name, f"expected False, got True: {builder.format.name} has no attribute bit for it")
    builder.check_records()
    if builder.timestamp_type not in ("create", "append"):
        builder.fail("timestamp_type", f"expected 'create' or 'append', got {shown(builder.timestamp_type)}")
    if builder.timestamp_type == "append" and "timestamp_type" not in builder.format.bits:
        name = builder.format.name
        builder.fail("timestamp_type", f"expected 'create', got 'append': {name} has no attribute bit for it")
    _check_fields_exist(builder)


def _check_kinds(builder: "BatchBuilder") -> None:
    for name in _INTEGERS:
        value = getattr(builder, name)
        if value is not None and not isinstance(value, int):
            builder.fail(name, f"expected an int, got {shown(value)}")
    for name, value in numbers_of(builder).items():
        if not isinstance(value, int):
            builder.fail(name, f"expected an int, got {shown(value)}")
    if not isinstance(builder.attribute_bits, int):
        builder.fail("attribute_bits", f"expected an int, got {shown(builder.attribute_bits)}")
    if not isinstance(builder.wrapper_key, bytes | None):
        builder.fail("wrapper_key", f"expected bytes or None, got {shown(builder.wrapper_key)}")
    for name, flag in (*_flags(builder).items(), (IGNORED, builder.ignore_message_attributes or False)):
        if flag not in (False, True):
            builder.fail(name, f"expected True or False, got {shown(flag)}")


def _check_fields_exist(builder: "BatchBuilder") -> None:
    """Raise EncodeError for a property that this kind of batch can't store."""
    fields = builder.format.fields
    if builder.append_time != -1 and builder.timestamp_type != "append":
        builder.fail("append_time", f"expected -1 for timestamp_type 'create', got {builder.append_time}")
    if builder.ignore_message_attributes is not None and IGNORED not in builder.format.bits:
        why = f"{builder.format.name} has no attribute bit for it"
        builder.fail(IGNORED, f"expected None, got {builder.ignore_message_attributes}: {why}")
    is_message_set = builder.format.records is None
    is_wrapper = is_message_set and builder.compression != "none"
    has_field = {
        "last_offset": is_wrapper or "last_offset_delta" in fields,
        "base_timestamp": not is_message_set and "base_timestamp" in fields,
        "max_timestamp": "base_timestamp" in fields if is_wrapper else "max_timestamp" in fields,
        "append_time": "base_timestamp" in fields,
        "attribute_bits": not builder.attribute_bits or builder.as_read or is_wrapper or not is_message_set,
        "wrapper_key": builder.as_read or is_wrapper,
    }
    for name, exists in has_field.items():
        if not exists and getattr(builder, name) not in (None, -1):
            builder.fail(name, f"got {shown(getattr(builder, name))}, but this kind of batch has no field for it")
    given = [each for each in (builder.base_offset, builder.last_offset) if each is not None]
    if given and not builder.as_read and builder.records:
        _check_offsets(builder, builder.records[0].offset, builder.records[-1].offset)


def _check_offsets(builder: "BatchBuilder", first: Any, last: Any) -> None:
    """Raise EncodeError if the given base offset or last offset contradicts the offsets of the records."""
    is_message = builder.format.records is None and builder.compression == "none"
    if is_message and builder.base_offset not in (None, first):
        builder.fail("base_offset", f"expected {first}, the offset of the first message, got {builder.base_offset}")
    if builder.last_offset is not None and isinstance(last, int) and builder.last_offset < last:
        builder.fail("last_offset", f"expected at least {last}, the last record's offset, got {builder.last_offset}")


def batch_attributes(builder: "BatchBuilder") -> int:
    """Return the attributes of the batch: an int that contains the bits of all its properties."""
    bits = builder.format.bits
    values: dict[str, int] = {name: int(flag) for name, flag in _flags(builder).items()}
    values["compression"] = builder.format.codecs.index(codec_of(builder))
    values["timestamp_type"] = int(builder.timestamp_type == "append")
    if IGNORED in bits:
        values[IGNORED] = int(_ignores_attributes(builder))
    number = builder.attribute_bits
    for name, value in values.items():
        number = bits[name].put(number, value) if name in bits else number
    return number


def codec_of(builder: "BatchBuilder") -> str:
    """Return the spec's name for the codec. Raises EncodeError if the format does not have the codec."""
    names = {codec.partition("-")[0]: codec for codec in reversed(builder.format.codecs)}
    if builder.compression not in [*names]:
        known = ", ".join(codec.partition("-")[0] for codec in builder.format.codecs)
        builder.fail("compression", f"expected one of {known}, got {shown(builder.compression)}")
    return names[builder.compression]


def _ignores_attributes(builder: "BatchBuilder") -> bool:
    """Return whether to omit the records' attributes bytes. By default, they are omitted if all of them are 0."""
    has_any = builder.has_attributes
    if has_any is None:
        has_any = any(record.attributes for record in builder.records)
    setting = builder.ignore_message_attributes
    if has_any and setting:
        builder.fail(IGNORED, "expected False or None, got True: some records have attributes")
    return not has_any if setting is None else setting


def records_in_python(builder: "BatchBuilder", header: dict[str, Any], base_offset: int, base_timestamp: int) -> bytes:
    """Encode the records of a batch that has a header, without the native engine.

    Use the fast path if possible. Otherwise, use the layout interpreter, which is slower but raises exact errors.
    """
    format = builder.format
    assert format.records is not None
    if format.has_magic2_records and not any(record.tombstone is not None for record in builder.records):
        with_attributes = record_items.has_attributes(format.record, header)
        with suppress(*record_items.REJECTIONS):
            return bytes(
                record_items.write(builder.records, base_offset, base_timestamp, with_attributes=with_attributes)
            )
    elements = builder.of_each(
        lambda record: _record_fields(format, record, base_offset, base_timestamp, as_read=builder.as_read),
        builder.records,
    )
    writer = LayoutWriter(format.layout, bytearray)
    writer.scopes = (header,)
    data = bytearray()
    with writer.at(format.records.name):
        writer.value(format.records.type, elements, data)
    return bytes(data)


def _record_fields(
    format: Format, record: Record, base_offset: int, base_timestamp: int, *, as_read: bool
) -> dict[str, Any]:
    """Return the field values of a record. Raises EncodeError for invalid values.

    With `as_read`, a null value without the tombstone flag is allowed.
    """
    return {
        "attributes": record_attributes(format, record, as_read=as_read),
        "timestamp_delta": record.timestamp - base_timestamp,
        "offset_delta": record.offset - base_offset,
        "key": record.key,
        "value": record.value,
        "headers": header_values(format, record),
    }


def check_kinds(format: Format, record: Record) -> None:
    """Raise EncodeError for values of the wrong type."""
    for name in ("offset", "timestamp", "attributes"):
        value = getattr(record, name, None)
        if not isinstance(value, int):
            reject(format, name, f"expected an int, got {shown(value)}")
    tombstone = getattr(record, "tombstone", None)
    if tombstone not in (None, False, True):
        reject(format, "tombstone", f"expected True, False or None, got {shown(tombstone)}")
    header_pairs(getattr(record, "headers", None))


def header_values(format: Format, record: Record) -> tuple[dict[str, Any], ...]:
    """Return the record's headers as dicts. Raises EncodeError if there are headers but the format can't store them."""
    if record.headers and "headers" not in format.has:
        reject(format, "headers", f"expected none, got {len(record.headers)}: the format has no headers")
    return tuple([{"key": key, "value": value} for key, value in record.headers])


def put_headers_in_order(format: Format, records: list[Record]) -> None:
    """Sort headers that were given as mappings, in the order that the format requires."""
    order = format.header_order
    if order is None:
        return
    for index, record in enumerate(records):
        if isinstance(record.headers, HeaderMap):
            headers = sorted(record.headers, key=lambda header: key_of(order, {order.field: header[0]}))
            records[index] = record.replace(headers=headers)


def record_attributes(format: Format, record: Record, *, as_read: bool) -> int:
    """Return a record's attributes byte, including the bits that depend on its key, value and headers.

    Raises EncodeError if `Record.attributes` already sets such bits.
    """
    bits = format.record_bits
    number = record.attributes
    named = [name for name, group in bits.items() if isinstance(number, int) and number & group.mask]
    if named:
        reason = f"expected an int without the bits of {' and '.join(named)}, which the builder sets, got {number}"
        reject(format, "attributes", reason)
    flags = {
        "key_is_null": record.key is None,
        "value_is_null": record.value is None,
        "has_headers": bool(record.headers),
    }
    for name, flag in flags.items():
        number = bits[name].put(number, int(flag)) if name in bits else number
    return _with_tombstone(format, record, number, as_read=as_read)


def _with_tombstone(format: Format, record: Record, number: int, *, as_read: bool) -> int:
    bit = format.record_bits.get("is_tombstone")
    if bit is None:
        if record.tombstone is not None and record.tombstone != (record.value is None):
            reason = f"expected {record.value is None} or None, got {record.tombstone}"
            reject(format, "tombstone", f"{reason}: only null values are tombstones in this format")
        return number
    if record.value is None and record.tombstone is False and not as_read:
        reject(format, "tombstone", NULL_WITHOUT_TOMBSTONE)
    return bit.put(number, int(record.is_tombstone))


def reject(format: Format, path: str, reason: str) -> NoReturn:
    """Raise EncodeError for the record attribute at `path`."""
    raise EncodeError(reason, message_name=format.name, version=None, path=path)
