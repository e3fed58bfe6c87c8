"""Compressed messages of magic 0 and 1: which offsets their records have, and damage that their checksums don't show.

The expected offsets are those of DeepRecordsIterator in Kafka's AbstractLegacyRecordBatch.
"""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pytest

from tagwire import DecodeError, log
from tagwire.log.salvage import salvage
from tagwire.log.stat import stat
from tagwire.log.verify import verify_partition
from tagwire.records import Record, build, convert, read_batches

pytestmark = pytest.mark.usefixtures("each_engine")

SEGMENT = "00000000000000000000.log"
KAFKA_PYTHON = bytes.fromhex(
    "000000000000000000000056d1502a8b01010000000000000000ffffffff000000401f8b0800f2f1066b02ff6360800389e8"
    "150b3731c278acff81004833951940454052123aeb27aa60516308156102a9d9baecc03c2c6a8c007ccfa14d6c000000"
)
"""A batch of three messages as the builder of kafka-python writes it."""


def message(offset: int, magic: int, value: bytes | None, attributes: int = 0) -> bytes:
    time = struct.pack(">q", 5) if magic else b""
    body = struct.pack(">bb", magic, attributes) + time + struct.pack(">i", -1)
    body += struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, crc32(body)) + body


def wrapper(outer: int, magic: int, *inner: int, inner_magic: int | None = None, bend: int = 0) -> bytes:
    """A wrapper with a right checksum; `bend` is the byte of its gzip data that is inverted."""
    kind = magic if inner_magic is None else inner_magic
    data = bytearray(gzip.compress(b"".join(message(each, kind, b"v%d" % each) for each in inner), mtime=0))
    data[bend] ^= 0xFF if bend else 0
    return message(outer, magic, bytes(data), 1)


OFFSETS = [
    (0, (2, 0, 1, 2), [0, 1, 2], 2),
    (1, (2, 0, 1, 2), [0, 1, 2], 2),
    (0, (9, 7, 8, 9), [7, 8, 9], 9),
    (0, (0, 0, 1, 2), [0, 1, 2], 2),
    (1, (0, 0, 1, 2), [0, 1, 2], 2),
    (1, (0, 0, 4), [0, 4], 4),
    (1, (0, 0), [0], 0),
    (1, (9, 0, 4), [5, 9], 9),
    (1, (9, 5, 9), [5, 9], 9),
    (1, (1, 0, 1, 2), None, None),
    (1, (-1, 0), None, None),
]
"""Magic, offset of the wrapper and offsets in it; the offsets of its records, or None if Kafka rejects it."""


def read_all(data: bytes, tmp_path: Path) -> dict[str, list[int]]:
    """The offsets as each reader gives them."""
    (tmp_path / "t-0").mkdir(exist_ok=True)
    path = tmp_path / "t-0" / SEGMENT
    path.write_bytes(data)
    return {
        "records": [record.offset for batch in read_batches(data) for record in batch],
        "log": [record.offset for batch in log.read(path) for record in batch],
        "columns": pa.table(log.columns(path, ["offset"])).column("offset").to_pylist(),
        "converted": [record.offset for batch in read_batches(data) for record in convert(batch, "v2")[0]],
    }


@pytest.mark.parametrize(("magic", "offsets", "expected", "last"), OFFSETS)
def test_offsets_of_a_wrapper(
    magic: int, offsets: tuple[int, ...], expected: list[int] | None, last: int | None, tmp_path: Path
) -> None:
    data = wrapper(offsets[0], magic, *offsets[1:])
    (batch,) = read_batches(data)
    if expected is None:
        for read in (lambda: list(batch), lambda: convert(batch, "v2"), lambda: read_all(data, tmp_path)):
            with pytest.raises(DecodeError, match="a wrapper's offset of"):
                read()
        return
    assert set(map(tuple, read_all(data, tmp_path).values())) == {tuple(expected)}
    assert (batch.base_offset, batch.last_offset) == (expected[0], last)
    (report,) = verify_partition(log.Partition(tmp_path / "t-0"))
    assert (report.records, report.problems) == (len(expected), [])
    assert log.Segment(tmp_path / "t-0" / SEGMENT).end_offset() == batch.last_offset + 1


def test_offsets_as_kafka_python_writes_them(tmp_path: Path) -> None:
    assert set(map(tuple, read_all(KAFKA_PYTHON, tmp_path).values())) == {(0, 1, 2)}


# ---------------------------------------------------------------- damage


def bent(magic: int) -> bytes:
    """Records 3 to 5, compressed, with one byte of the compressed data inverted and a right checksum."""
    if magic < 2:
        return wrapper(5, magic, *((0, 1, 2) if magic else (3, 4, 5)), bend=20)
    records = [Record(3 + index, 5, None, b"v%d" % index * 20) for index in range(3)]
    batch = build(records, "v2", compression="gzip")
    data = bytearray(batch.encode())
    data[61 + 20] ^= 0xFF
    from tagwire.wire.checksums import checksum

    return bytes(data[:17]) + struct.pack(">I", checksum("crc32c", bytes(data[21:]))) + bytes(data[21:])


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_damage_with_a_right_checksum_is_reported_and_skipped(magic: int, tmp_path: Path) -> None:
    first, last = message(2, magic % 2, b"v"), message(6, magic % 2, b"v")
    folder = tmp_path / "t-0"
    folder.mkdir()
    path = folder / SEGMENT
    path.write_bytes(first + bent(magic) + last)
    place = range(len(first), len(first + bent(magic)))

    def has_place(error: log.LogError) -> bool:
        return error.rule == "TWL106" and error.offset in place and error.file == str(path)

    (report,) = verify_partition(log.Partition(folder))
    assert [(each.rule, each.position in place) for each in report.problems] == [("TWL106", True)]
    assert (report.batches, report.records) == (3, 2)

    saved, *_ = salvage(log.Partition(folder), tmp_path / "saved")
    assert (saved.batches, saved.lost_bytes, [each.position in place for each in saved.problems]) == (
        2,
        len(place),
        [True],
    )
    assert (tmp_path / "saved" / "t-0" / SEGMENT).read_bytes() == first + last

    skipping = log.columns(path, ["offset"], errors="skip")
    assert pa.table(skipping).column("offset").to_pylist() == [2, 6]
    assert [has_place(each.error) for each in skipping.skipped] == [True]

    readers: tuple[Callable[[], Any], ...] = (
        lambda: stat(log.Segment(path)),
        lambda: [list(batch) for batch in log.read(path)],
        lambda: [len(batch) for batch in log.read(path)],
        lambda: [batch.base_offset for batch in log.read(path)] and list(log.columns(path)),
    )
    for read in readers:
        with pytest.raises(log.LogError) as caught:
            read()
        assert has_place(caught.value)
