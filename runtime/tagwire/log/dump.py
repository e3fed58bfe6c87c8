"""Format batches as JSON lines, one line per record.

Each line begins with the values that all records of a batch share, which are formatted only once per batch. Names are
as in Kafka's tools, and bytes are base64. Native code writes the same lines.
"""

import json
from binascii import b2a_base64
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from tagwire.errors import DecodeError
from tagwire.records import Record, RecordBatch
from tagwire.records.format import Format
from tagwire.records.native import native_source
from tagwire.text_format import printable_json

_TIMESTAMP_TYPES: Final = ("CreateTime", "LogAppendTime")
_TRUTH: Final = ("false", "true")
_AT_ONCE: Final = 1 << 20
"""The size of a chunk of lines, in bytes or characters."""


def _header(file: str, batch: RecordBatch) -> str:
    """Return the text before the record's offset in each line of a batch. The module `json` would be slower."""
    horizon = "null" if batch.delete_horizon_ms is None else batch.delete_horizon_ms
    return (
        f'{{"file": {_quoted(file)}, "baseOffset": {batch.base_offset}, '
        f"{_described(batch.record_format, batch.magic, batch.attributes)}, "
        f'"deleteHorizonMs": {horizon}, '
        f'"producerId": {batch.producer_id}, "producerEpoch": {batch.producer_epoch}, '
        f'"baseSequence": {batch.base_sequence}'
    )


@lru_cache(maxsize=256)
def _described(format: Format, magic: int, attributes: int) -> str:
    """Return the JSON members for a batch's attributes. Cached, because most batches have the same attributes."""

    def flag(name: str) -> int:
        return format.bits[name].of(attributes) if name in format.bits else 0

    codec = format.codecs[flag("compression")].partition("-")[0]
    type = "NoTimestampType" if magic == 0 else _TIMESTAMP_TYPES[flag("timestamp_type")]
    return (
        f'"magic": {magic}, "compression": "{codec}", "timestampType": "{type}", '
        f'"isTransactional": {_TRUTH[flag("is_transactional")]}, "isControl": {_TRUTH[flag("is_control")]}'
    )


@lru_cache(maxsize=1)
def _quoted(file: str) -> str:
    return printable_json(json.dumps(file, ensure_ascii=False))


More = Callable[[Record], dict[str, str]]
"""A function that returns additional JSON members for a record: a dict from names to JSON text.

A member named `value` replaces the record's value.
"""


Keep = Callable[[Record], bool]
"""A function that returns whether to print a record."""


def batch_lines(file: str, batch: RecordBatch, more: More | None = None, keep: Keep | None = None) -> Iterator[bytes]:
    """Yield a JSON line per record, in chunks of several lines. Raises DecodeError for invalid records.

    `more` returns additional JSON members for a record. `keep` returns whether to write a record; None means all.
    """
    header = _header(file, batch)
    done: int | None = 0
    if more is None and keep is None:
        done = yield from native_lines(batch, header.encode("utf-8", "backslashreplace"))
    if done is not None:
        records = batch if keep is None else filter(keep, batch)
        yield from in_parts(_line(record, header, more) for record in islice(records, done, None))


def native_lines(batch: RecordBatch, header: bytes, *, is_text: bool = False) -> Generator[bytes, None, int | None]:
    """Yield chunks of JSON lines, one line per record. Each line begins with `header`, the JSON that all lines share.

    With `is_text`, a line consists of tab-separated fields instead. Its last field lists the attributes that are set,
    first those of the batch (`header`), then those of the record. If native code does not support a record, the
    generator ends. Its return value is the number of formatted records; None means all.
    """
    source = native_source(batch)
    if source is None:
        return 0
    count = source.left
    while source.left and (text := source.lines(header, _AT_ONCE, is_text)):
        yield text
    return None if source.is_read else count - source.left


def in_parts(lines: Iterable[str]) -> Iterator[bytes]:
    """Join lines into chunks of about 1 MiB. If `lines` raises DecodeError, first yield the lines before the error."""
    part: list[str] = []
    size = 0
    try:
        for line in lines:
            part.append(line)
            size += len(line)
            if size > _AT_ONCE:
                yield "".join(part).encode("utf-8", "backslashreplace")
                part, size = [], 0
    except DecodeError:
        yield "".join(part).encode("utf-8", "backslashreplace")
        raise
    yield "".join(part).encode("utf-8", "backslashreplace")


def _line(record: Record, header: str, more: More | None) -> str:
    key = "null" if record.key is None else f'"{b2a_base64(record.key, newline=False).decode()}"'
    fields = {} if more is None else more(record)
    value = "null" if record.value is None else f'"{b2a_base64(record.value, newline=False).decode()}"'
    value = fields.pop("value", value)
    headers = _headers(record) if record.headers else "[]"
    line = (
        f'{header}, "offset": {record.offset}, "timestamp": {record.timestamp}, '
        f'"key": {key}, "value": {value}, "headers": {headers}, '
        f'"hasHeaders": {_TRUTH[bool(record.headers)]}, "isTombstone": {_TRUTH[record.is_tombstone]}'
    )
    for name, text in fields.items():
        line += f', "{name}": {text}'
    return line + "}\n"


def _headers(record: Record) -> str:
    pairs = [
        [key, None if value is None else b2a_base64(value, newline=False).decode()] for key, value in record.headers
    ]
    return json.dumps(pairs, ensure_ascii=False)
