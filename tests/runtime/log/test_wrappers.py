"""Test wrappers (compressed messages of magic 0 and 1): their records' offsets, and damage that checksums don't detect.

The expected offsets are the ones that DeepRecordsIterator in Kafka's AbstractLegacyRecordBatch returns.
"""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command import tagwire_result
from small_logs import message, sealed, write_segment

from tagwire import DecodeError, Limits, log
from tagwire.log.salvage import salvage
from tagwire.log.stat import stat
from tagwire.log.verify import verify_partition
from tagwire.records import Record, build, convert, read_batches
from tagwire.records.opening import trace_batches
from tagwire.wire.compression import DecompressionError, compress, decompress
from tagwire.wire.varint import uvarint_bytes

pytestmark = pytest.mark.usefixtures("each_engine")


def wrapper(outer: int, magic: int, *inner: int, inner_magic: int | None = None, bend: int = 0) -> bytes:
    """Return a wrapper with a valid checksum. If `bend` isn't 0, the byte at that index of the gzip data is damaged."""
    kind = magic if inner_magic is None else inner_magic
    data = bytearray(gzip.compress(b"".join(message(each, kind, b"v%d" % each) for each in inner), mtime=0))
    data[bend] ^= 0xFF if bend else 0
    return message(outer, magic, bytes(data), 1)


OFFSETS = [
    (0, (2, 0, 1, 2), [0, 1, 2], 2), (1, (2, 0, 1, 2), [0, 1, 2], 2), (0, (9, 7, 8, 9), [7, 8, 9], 9),
    (0, (0, 0, 1, 2), [0, 1, 2], 2), (1, (0, 0, 1, 2), [0, 1, 2], 2), (1, (0, 0, 4), [0, 4], 4), (1, (0, 0), [0], 0),
    (1, (9, 0, 4), [5, 9], 9), (1, (9, 5, 9), [5, 9], 9), (1, (1, 0, 1, 2), None, None), (1, (-1, 0), None, None),
]  # fmt: skip
"""Each case: magic, wrapper offset, inner offsets, and the record offsets (None if Kafka rejects the wrapper)."""


def read_all(data: bytes, tmp_path: Path) -> dict[str, list[int]]:
    path = write_segment(tmp_path / "t-0", data)
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
            with pytest.raises(DecodeError, match="wrapper offset "):
                read()
        return
    assert set(map(tuple, read_all(data, tmp_path).values())) == {tuple(expected)}
    assert (batch.base_offset, batch.last_offset) == (expected[0], last)
    (report,) = verify_partition(log.Partition(tmp_path / "t-0"))
    assert (report.records, report.problems) == (len(expected), [])
    assert log.Partition(tmp_path / "t-0").segments[0].end_offset() == batch.last_offset + 1


def bent(magic: int) -> bytes:
    """Return a compressed batch of records 3 to 5. A byte of its data is inverted, but its checksum is valid."""
    if magic < 2:
        return wrapper(5, magic, *((0, 1, 2) if magic else (3, 4, 5)), bend=20)
    records = [Record(3 + index, 5, None, b"v%d" % index * 20) for index in range(3)]
    data = bytearray(build(records, "v2", compression="gzip").encode())
    data[61 + 20] ^= 0xFF
    return sealed(data)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_damage_with_a_right_checksum_is_reported_and_skipped(magic: int, tmp_path: Path) -> None:
    first, last = message(2, magic % 2, b"v"), message(6, magic % 2, b"v")
    path = write_segment(tmp_path / "t-0", first, bent(magic), last)
    folder = path.parent
    damaged_range = range(len(first), len(first + bent(magic)))

    def is_in_range(error: log.LogError) -> bool:
        return error.rule == "TWL106" and error.offset in damaged_range and error.file == str(path)

    (report,) = verify_partition(log.Partition(folder))
    assert [(each.rule, each.position in damaged_range) for each in report.problems] == [("TWL106", True)]
    assert (report.batches, report.records) == (3, 2)

    saved, *_ = salvage(log.Partition(folder), tmp_path / "saved")
    assert (saved.batches, saved.lost_bytes, [each.position in damaged_range for each in saved.problems]) == (
        2,
        len(damaged_range),
        [True],
    )
    assert (tmp_path / "saved" / "t-0" / path.name).read_bytes() == first + last

    skipping = log.columns(path, ["offset"], errors="skip")
    assert pa.table(skipping).column("offset").to_pylist() == [2, 6]
    assert [is_in_range(each.error) for each in skipping.skipped] == [True]

    readers: tuple[Callable[[], Any], ...] = (
        lambda: stat(log.Segment(path)),
        lambda: [list(batch) for batch in log.read(path)],
        lambda: [len(batch) for batch in log.read(path)],
        lambda: [batch.base_offset for batch in log.read(path)] and list(log.columns(path)),
    )
    for read in readers:
        with pytest.raises(log.LogError) as caught:
            read()
        assert is_in_range(caught.value)


def batch_of(payload: bytes, count: int, codec: int, base_timestamp: int = 5) -> bytes:
    numbers = (codec, 0, base_timestamp, base_timestamp, -1, -1, -1, count)
    return sealed(struct.pack(">qiibIhiqqqhii", 1, 0, 0, 2, 0, *numbers) + payload)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_compressed_batch_without_any_record_bytes(codec: int, tmp_path: Path) -> None:
    """Check a compressed batch with zero record bytes, as seen in IBM/sarama#2053 and KAFKA-5490."""
    data = build([Record(0, 5, None, b"v")], "v2").encode() + batch_of(b"", 0, codec) + message(2, 1, b"v")
    assert set(map(tuple, read_all(data, tmp_path).values())) == {(0, 2)}
    (report,) = verify_partition(log.Partition(tmp_path / "t-0"))
    assert (report.batches, report.problems) == (3, [])
    assert [seen.error for seen in trace_batches(data, "auto")] == [None, None, None]
    with pytest.raises(DecodeError):
        read_all(batch_of(b"", 1, codec), tmp_path)


def test_streams_of_xerial_may_follow_each_other() -> None:
    both = compress("snappy", b"one") + compress("snappy", b"two")
    assert decompress("snappy", both, Limits()) == b"onetwo"
    with pytest.raises(DecompressionError, match="truncated Xerial header"):
        decompress("snappy", both + compress("snappy", b"three")[:12], Limits())


@pytest.mark.parametrize(("base", "delta"), [(-5, -(2**63)), (2**63 - 1, 1)])
def test_a_timestamp_of_more_than_64_bits_is_an_error(base: int, delta: int, tmp_path: Path) -> None:
    zigzag = uvarint_bytes(delta << 1 if delta >= 0 else -2 * delta - 1)
    record = b"\0" + zigzag + b"\0\1\1\0"
    data = batch_of(uvarint_bytes(len(record) << 1) + record, 1, 0, base)
    with pytest.raises(log.LogError, match="expected a 64-bit number"):
        [list(batch) for batch in log.read(write_segment(tmp_path / "t-0", data))]
    (report,) = verify_partition(log.Partition(tmp_path / "t-0"))
    assert [each.rule for each in report.problems] == ["TWL106"]


def test_offsets_of_a_wrapper_of_more_than_64_bits_are_an_error() -> None:
    (batch,) = read_batches(wrapper(2**63 - 1, 1, 1, 0))
    with pytest.raises(DecodeError, match="expected a 64-bit number"):
        list(batch)


@pytest.mark.parametrize("name", ["kip82-int", "kip82-str", "kip87", "kip82-int+kip87"])
def test_a_log_of_a_draft_is_named(name: str, tmp_path: Path) -> None:
    drafts = b"".join(build([Record(n, 5, b"k", b"v")], name).encode() for n in (3, 4, 5))
    path = write_segment(tmp_path / "t-0", message(2, 1, b"v"), drafts)
    (report,) = verify_partition(log.Partition(path.parent), name)
    assert report.problems == []
    (report,) = verify_partition(log.Partition(path.parent))
    assert name in report.problems[0].message and "--record-format" in report.problems[0].message
    saved, *_ = salvage(log.Partition(path.parent), tmp_path / "saved")
    assert name in saved.problems[0].message
    for read in (lambda: list(log.read(path)), lambda: list(log.columns(path))):
        with pytest.raises(log.LogError, match="select a format, on the command"):
            read()
    path.write_bytes(drafts)
    for options in ([], ["--guess"], ["--record-format", "auto"]):
        result = tagwire_result("explain", *options, path)
        assert name in result.output and "select a format, on the command" in result.output, result.output
    dumped = tagwire_result("log", "dump", path).stderr
    assert "select a format, on the command" in dumped and "--lenient" not in dumped
