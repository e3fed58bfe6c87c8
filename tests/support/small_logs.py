"""Write segments, and make batches field by field, even batches that `tagwire.records.build` would reject."""

import struct
from pathlib import Path
from zlib import crc32

import google_crc32c

from tagwire.records import RecordBatch


def write_segment(folder: Path, *batches: bytes | bytearray | RecordBatch, base: int = 0) -> Path:
    """Write a segment to a partition folder, which is created if necessary. Return the segment's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{base:020}.log"
    path.write_bytes(b"".join(each.encode() if isinstance(each, RecordBatch) else each for each in batches))
    return path


def sealed(data: bytes | bytearray) -> bytes:
    """Return a v2 batch with its length and its checksum corrected."""
    body = bytes(data[21:])
    return (
        bytes(data[:8])
        + struct.pack(">i", len(data) - 12)
        + bytes(data[12:17])
        + struct.pack(">I", google_crc32c.value(body))
        + body
    )


def sealed_message(offset: int, body: bytes) -> bytes:
    """Return a message of magic 0 or 1. `body` is everything from the magic byte on."""
    return struct.pack(">qiI", offset, len(body) + 4, crc32(body)) + body


def message(offset: int, magic: int, value: bytes | None, attributes: int = 0, time: int = 5) -> bytes:
    """Return a message of magic 0 or 1 without a key. Its value may be a message set."""
    body = struct.pack(">bb", magic, attributes) + (struct.pack(">q", time) if magic else b"")
    body += struct.pack(">ii", -1, -1 if value is None else len(value)) + (value or b"")
    return sealed_message(offset, body)
