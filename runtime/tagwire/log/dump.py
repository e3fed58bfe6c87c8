"""Batches as lines of JSON, one a record.

What a batch's records have in common is written once and put before each of
them. Names are those of Kafka's tools; bytes are base64 or null.
"""

import json
from binascii import b2a_base64
from collections.abc import Callable
from typing import Any, Final

from tagwire.records import Record, RecordBatch

__all__ = ["batch_fields", "batch_lines"]

_TIMESTAMP_TYPES: Final = {"create": "CreateTime", "append": "LogAppendTime"}


def timestamp_type(batch: RecordBatch) -> str:
    """CreateTime, LogAppendTime, or NoTimestampType for magic 0, which has no timestamps."""
    return "NoTimestampType" if batch.magic == 0 else _TIMESTAMP_TYPES[batch.timestamp_type]


def batch_fields(file: str, batch: RecordBatch) -> dict[str, Any]:
    """What every line of a batch says."""
    return {
        "file": file,
        "baseOffset": batch.base_offset,
        "magic": batch.magic,
        "compression": batch.compression,
        "timestampType": timestamp_type(batch),
        "isTransactional": batch.is_transactional,
        "isControl": batch.is_control,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "baseSequence": batch.base_sequence,
    }


def batch_lines(file: str, batch: RecordBatch, more: Callable[[Record], dict[str, Any]] | None = None) -> str:
    """A line of JSON for each record: the batch's fields, then offset, timestamp, key, value, headers.

    `more` gives fields that are put behind them. Raises DecodeError for records that are not right.
    """
    head = json.dumps(batch_fields(file, batch), ensure_ascii=False)[:-1]
    lines = []
    for record in batch:
        key = "null" if record.key is None else f'"{b2a_base64(record.key, newline=False).decode()}"'
        value = "null" if record.value is None else f'"{b2a_base64(record.value, newline=False).decode()}"'
        headers = _headers(record) if record.headers else "[]"
        line = (
            f'{head}, "offset": {record.offset}, "timestamp": {record.timestamp}, '
            f'"key": {key}, "value": {value}, "headers": {headers}'
        )
        if more is not None and (fields := more(record)):
            line += f", {json.dumps(fields, ensure_ascii=False)[1:-1]}"
        lines.append(f"{line}}}\n")
    return "".join(lines)


def _headers(record: Record) -> str:
    pairs = [
        [key, None if value is None else b2a_base64(value, newline=False).decode()] for key, value in record.headers
    ]
    return json.dumps(pairs, ensure_ascii=False)
