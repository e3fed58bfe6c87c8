"""A checksum over records, to detect whether two writes of a micro-batch have the same content.

The sum does not depend on the order, batches or offsets of the records. It covers each record's key, value and headers
as encoded in format v2, so native code can compute the sum while it encodes rows (`row_runs`).
"""

from collections.abc import Iterable

from tagwire.records import Record
from tagwire.wire.checksums import checksum
from tagwire.wire.varint import to_zigzag, uvarint_bytes


def content_sum(records: Iterable[Record]) -> int:
    """Return the sum of the CRC-32C checksums of all records."""
    return sum(checksum("crc32c", _body(record)) for record in records)


def _body(record: Record) -> bytes:
    headers = [(str(name).encode(), value) for name, value in record.headers]
    parts = [record.key, record.value, *(part for header in headers for part in header)]
    written = [_varint(-1) if part is None else _varint(len(part)) + part for part in parts]
    return b"".join([*written[:2], _varint(len(headers)), *written[2:]])


def _varint(value: int) -> bytes:
    return uvarint_bytes(to_zigzag(value))
