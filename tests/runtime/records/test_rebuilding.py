import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tagwire.errors import DecodeError, EncodeError
from tagwire.records import BatchBuilder, Record, RecordBatch, build, read_batches
from tagwire.records.moving import exact_header_of, rebuilt

DATA = Path(__file__).parents[2] / "data" / "records" / "batches.jsonl.gz"
BATCHES = [bytes.fromhex(json.loads(line)["hex"]) for line in gzip.decompress(DATA.read_bytes()).splitlines()]
LATEST = 1 << 52
PLAIN = [Record(n, 1_700_000_000_000 + n, b"k", b"v" * n, (("h", None),) * (n % 2)) for n in range(5)]


def parts(batch: RecordBatch) -> tuple[Any, list[Record]]:
    header = exact_header_of(batch, LATEST)
    assert header is not None
    return header, list(batch)


def test_batches_of_brokers() -> None:
    kinds = set()
    for data in BATCHES:
        [batch] = read_batches(data)
        header = exact_header_of(batch, LATEST)
        can_be = batch.magic == 2 and batch.compression == "none"
        assert (header is not None) == can_be
        if header is not None:
            assert rebuilt(header, batch).encode() == data
            assert len(header.data) == 61 and header.size == len(data)
            assert (header.timestamps is not None) == (batch.timestamp_type == "append")
            kinds.add(
                (len(batch) == 0, batch.is_control, batch.delete_horizon_ms is not None, header.timestamps is None)
            )
    assert len(kinds) >= 4


@pytest.mark.parametrize("format", ["v2", "v3", "v3-zigzag", "kip82-str"])
def test_formats_with_a_header(format: str) -> None:
    records = [Record(n, 5, b"k", None, tombstone=None) for n in range(3)] + [Record(7, 1 << 40, None, b"v")]
    batch = build(records, format)
    header, found = parts(batch)
    assert header.format == format and rebuilt(header, found).encode() == batch.encode()


def test_properties_that_only_the_header_has_are_kept() -> None:
    batch = build(PLAIN, "v2", base_offset=0, last_offset=99, max_timestamp=1 << 45, partition_leader_epoch=3)
    header, found = parts(batch)
    assert rebuilt(header, found).encode() == batch.encode() and rebuilt(header, found).last_offset == 99


def test_timestamps_that_the_records_columns_do_not_have() -> None:
    appended = build(PLAIN, "v2", timestamp_type="append", append_time=9)
    header, found = parts(appended)
    assert {record.timestamp for record in found} == {9} and header.timestamps == tuple(r.timestamp for r in PLAIN)
    assert rebuilt(header, found).encode() == appended.encode()
    far = build([Record(0, LATEST + 1, None, b""), Record(1, 5, None, b"")], "v2")
    header, found = parts(far)
    lost = [Record(record.offset, -1, record.key, record.value) for record in found]
    assert header.timestamps == (LATEST + 1, 5) and rebuilt(header, lost).encode() == far.encode()
    with pytest.raises(EncodeError, match="expected 2 records, one per timestamp"):
        rebuilt(header, found[:1])


def test_batches_that_are_kept_whole() -> None:
    assert exact_header_of(build(PLAIN, "v2", compression="gzip"), LATEST) is None
    plain = [Record(n, 5, b"k", b"v") for n in range(2)]
    assert all(exact_header_of(each, LATEST) is None for each in read_batches(build(plain, "v1").encode()))
    marked = [Record(0, 5, b"k", b"v", attributes=1)]
    assert exact_header_of(build(marked, "v2"), LATEST) is None


def test_changed_records_are_built_anew() -> None:
    header, found = parts(build(PLAIN, "v2"))
    changed: list[list[Record]] = [
        found[:-1],
        [*found, Record(9, 5, None, None)],
        [found[1], found[0], *found[2:]],
        [found[0].replace(value=b"x"), *found[1:]],
    ]
    for records in changed:
        with pytest.raises((DecodeError, EncodeError), match=r"crc|the original size"):
            rebuilt(header, records)
    with pytest.raises((DecodeError, EncodeError)):
        rebuilt(header._replace(data=header.data[:20]), found)


@pytest.mark.parametrize("changes", [{"format": "v1"}, {"size": 0}, {"size": 1 << 20}, {"data": b""}], ids=str)
def test_objects_that_are_not_headers(changes: dict[str, Any]) -> None:
    header, found = parts(build(PLAIN, "v2"))
    with pytest.raises((DecodeError, EncodeError)):
        rebuilt(header._replace(**changes), found)


def test_a_batch_without_records() -> None:
    batch = BatchBuilder("v2", base_offset=5, last_offset=9, max_timestamp=7).build()
    header, found = parts(batch)
    assert found == [] and rebuilt(header, []).encode() == batch.encode()
