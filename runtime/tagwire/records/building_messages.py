"""Build batches in message set formats: one wrapper if compressed, otherwise consecutive messages."""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tagwire.interpreter.writer import encode
from tagwire.message.engines import DisagreementError
from tagwire.records.batch import RecordBatch, own_batch
from tagwire.records.building_properties import batch_attributes
from tagwire.records.legacy_messages import MessageSet
from tagwire.records.native import NativeResult, Written, write_natively
from tagwire.records.record import Record
from tagwire.records.record_fields import header_values, put_headers_in_order, record_attributes, reject
from tagwire.text_format import count
from tagwire.wire.compression import compress

if TYPE_CHECKING:
    from tagwire.records.building import BatchBuilder


def build_messages(builder: "BatchBuilder", more: Iterator[Record]) -> RecordBatch:
    """Build messages from the builder's records, followed by the records in `more`.

    If the messages are compressed, put them into a wrapper.

    Raises EncodeError for invalid values.
    """
    format, codec = builder.format, builder.codec()
    is_relative = format.magic > 0 and codec != "none"
    base = builder.bases(builder.first())[0] if is_relative else 0
    found, count = builder.in_parts(more, lambda: _written(builder, base))
    if codec == "none":
        return MessageSet(found.data, count, format)
    if not builder.records:
        builder.fail("records", "expected at least one: a compressed message set can't be empty")
    header = builder.values(
        base_offset=builder.records[-1].offset if builder.last_offset is None else builder.last_offset,
        attributes=batch_attributes(builder),
        base_timestamp=builder.top(found.max_timestamp),
    )
    return own_batch(
        format, format.encode_header({**header, "key": builder.wrapper_key, "value": compress(codec, found.data)})
    )


def _written(builder: "BatchBuilder", base: int) -> Written:
    format, records = builder.format, builder.records
    written: Written | NativeResult = NativeResult.NONE_TRIED
    # Sorting fails for invalid headers; `check_kinds_of` below raises the exact error.
    with suppress(TypeError, ValueError, AttributeError):
        put_headers_in_order(format, records)
        if builder.timestamp_type == "create":
            written = write_natively(format, records, {}, base, 0)
    if isinstance(written, Written) and records:
        return written
    builder.check_kinds_of(records)
    data = b"".join(builder.of_each(lambda record: encode(format.header, _message(builder, record, base)), records))
    if written is NativeResult.CERTAIN:
        raise DisagreementError(format.layout, count(len(records), "record"))
    return Written(data, -1, max((record.timestamp for record in records), default=-1))


def _message(builder: "BatchBuilder", record: Record, base: int) -> dict[str, Any]:
    format = builder.format
    is_appended = builder.timestamp_type == "append"
    if "base_timestamp" not in format.fields and record.timestamp != -1:
        reject(format, "timestamp", f"expected -1, got {record.timestamp}: the format has no timestamps")
    number = record_attributes(format, record, as_read=builder.as_read)
    if is_appended:
        number = format.bits["timestamp_type"].put(number, 1)
    header = builder.values(
        base_offset=record.offset - base,
        attributes=number,
        base_timestamp=builder.append_time if is_appended and builder.compression == "none" else record.timestamp,
    )
    found = {**header, "key": record.key, "value": record.value}
    headers = header_values(format, record)
    return {**found, "headers": headers} if headers else found
