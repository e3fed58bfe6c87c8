"""Convert a record to the field values of its format, such as offset deltas.

Values that the format can't represent raise EncodeError. The error's path is relative to the record; callers with
several records add the index.
"""

from typing import Any, NoReturn

from tagwire.errors import EncodeError
from tagwire.interpreter.cursor import key_of
from tagwire.records.format import Format
from tagwire.records.record import HeaderMap, Record, header_pairs
from tagwire.text_format import shown


def record_fields(
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
        reason = (
            "expected True or None for a null value, got False: older readers would treat the record as a tombstone"
        )
        reject(format, "tombstone", reason)
    return bit.put(number, int(record.is_tombstone))


def reject(format: Format, path: str, reason: str) -> NoReturn:
    """Raise EncodeError for the record attribute at `path`."""
    raise EncodeError(reason, message_name=format.name, version=None, path=path)
