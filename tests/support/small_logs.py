"""Write segments, and make batches field by field, even batches that `tagwire.records.build` would reject."""

import struct
from pathlib import Path
from zlib import crc32

import google_crc32c

from tagwire.records import BatchBuilder, Record, RecordBatch, build


def write_segment(folder: Path, *batches: bytes | bytearray | RecordBatch, base: int = 0) -> Path:
    """Write a segment to a partition folder, which is created if necessary. Return the segment's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{base:020}.log"
    path.write_bytes(b"".join(each.encode() if isinstance(each, RecordBatch) else each for each in batches))
    return path


def flip(path: Path, at: int = -1, bits: int = 1) -> None:
    """Change bits of one byte of a file, by default of the last byte."""
    data = bytearray(path.read_bytes())
    data[at] ^= bits
    path.write_bytes(data)


def transactional(folder: Path) -> Path:
    """Write three segments. Producer 7's aborted transaction spans all three; producer 8's is in the second only."""
    folder.mkdir(parents=True)

    def batch(offset: int, producer: int, marker: int | None = None) -> bytes:
        key = None if marker is None else b"\0\0" + marker.to_bytes(2, "big")
        value = b"v" if marker is None else bytes(6)
        builder = BatchBuilder(
            "v2", producer_id=producer, producer_epoch=0, is_transactional=True, is_control=marker is not None
        )
        return builder.append(key, value, timestamp=1, offset=offset).build().encode()

    for base, data in {
        0: batch(0, 7),
        1: batch(1, 8) + batch(2, 8, 0) + batch(3, 9),
        4: batch(4, 7, 0) + batch(5, 9, 1) + batch(6, 8) + batch(7, 8, 0),
    }.items():
        (folder / f"{base:020}.log").write_bytes(data)
    return folder


def stock(folder: Path) -> Path:
    """Write a segment (two records with key a, a tombstone for key b) and an active segment (a record with key a)."""
    some = [Record(0, 5, b"a", b"v"), Record(1, 6, b"b", None), Record(2, 7, b"a", b"w")]
    write_segment(folder, build(some, "v2"))
    write_segment(folder, build([Record(3, 8, b"a", b"x")], "v2"), base=3)
    return folder


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
