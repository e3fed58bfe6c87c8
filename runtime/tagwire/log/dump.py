"""Batches as lines of JSON, one a record.

What a batch's records have in common is written once and put before each of
them. Names are those of Kafka's tools; bytes are base64 or null. Where native
code writes the lines, this is what they are held against.
"""

import json
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from tagwire.records import Record, RecordBatch
from tagwire.records.lines import native_lines

__all__ = ["batch_fields", "batch_lines"]

_TIMESTAMP_TYPES: Final = {"create": "CreateTime", "append": "LogAppendTime"}
_AT_ONCE: Final = 1 << 20
"""Letters of lines that are kept in memory."""


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


More = Callable[[Record], dict[str, Any]]
"""What else a record's line is to say, behind the rest."""


def batch_lines(file: str, batch: RecordBatch, more: More | None = None) -> Iterator[bytes]:
    """A line of JSON for each record, some lines at a time: the batch's fields, offset, timestamp, key, value, headers.

    Raises DecodeError for records that are not right.
    """
    head = json.dumps(batch_fields(file, batch), ensure_ascii=False)[:-1]
    done: int | None = 0
    if more is None:
        done = yield from native_lines(batch, head.encode("utf-8", "backslashreplace"))
    if done is not None:
        yield from _record_lines(islice(batch, done, None), head, more)


def _record_lines(records: Iterable[Record], head: str, more: More | None) -> Iterator[bytes]:
    lines, size = [], 0
    for record in records:
        line = _line(record, head, more)
        lines.append(line)
        size += len(line)
        if size > _AT_ONCE:
            yield "".join(lines).encode("utf-8", "backslashreplace")
            lines, size = [], 0
    yield "".join(lines).encode("utf-8", "backslashreplace")


def _line(record: Record, head: str, more: More | None) -> str:
    key = "null" if record.key is None else f'"{b2a_base64(record.key, newline=False).decode()}"'
    value = "null" if record.value is None else f'"{b2a_base64(record.value, newline=False).decode()}"'
    headers = _headers(record) if record.headers else "[]"
    line = (
        f'{head}, "offset": {record.offset}, "timestamp": {record.timestamp}, '
        f'"key": {key}, "value": {value}, "headers": {headers}'
    )
    if more is not None and (fields := more(record)):
        line += f", {json.dumps(fields, ensure_ascii=False)[1:-1]}"
    return line + "}\n"


def _headers(record: Record) -> str:
    pairs = [
        [key, None if value is None else b2a_base64(value, newline=False).decode()] for key, value in record.headers
    ]
    return json.dumps(pairs, ensure_ascii=False)
