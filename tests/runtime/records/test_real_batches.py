import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tagwire.explain.trace import trace
from tagwire.records import RecordBatch, build, control_record, format_of, read_batches
from tagwire_generator.model.spec_names import snake_case

FILE = Path(__file__).parents[2] / "data" / "records" / "batches.jsonl.gz"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]
IDS = [f"{row['broker']}-{row['file'].split('/')[0]}-{row['position']}" for row in ROWS]


def the_batch(row: dict[str, Any]) -> RecordBatch:
    (batch,) = read_batches(bytes.fromhex(row["hex"]))
    return batch


def from_hex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_read_as_kafka_reads_it(row: dict[str, Any]) -> None:
    batch, facts = the_batch(row), row["batch"]
    times = {"create": "CreateTime" if batch.magic else "NoTimestampType", "append": "LogAppendTime"}
    found = {name: getattr(batch, snake_case(name)) for name in facts}
    assert found | {"timestampType": times[batch.timestamp_type]} == facts
    assert batch.format == f"v{batch.magic}" and batch.size == len(row["hex"]) // 2
    assert len(batch) == len(row["records"])
    for record, (offset, timestamp, key, value, headers, _) in zip(batch, row["records"], strict=True):
        assert (record.offset, record.timestamp) == (offset, timestamp)
        assert (record.key, record.value) == (from_hex(key), from_hex(value))
        assert record.headers == tuple((name, from_hex(content)) for name, content in headers)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_rebuilt_from_its_records(row: dict[str, Any]) -> None:
    """Rebuilt batches must have the same records and, if they are not compressed, the same bytes."""
    batch = the_batch(row)
    settings: dict[str, Any] = {"compression": batch.compression, "timestamp_type": batch.timestamp_type}
    if batch.timestamp_type == "append":
        settings["append_time"] = batch.max_timestamp
    if batch.magic == 2:
        names = ("producer_id", "producer_epoch", "base_sequence", "partition_leader_epoch", "is_transactional")
        settings |= {name: getattr(batch, name) for name in (*names, "is_control", "base_offset", "last_offset")}
        settings |= {"max_timestamp": batch.max_timestamp, "delete_horizon_ms": batch.delete_horizon_ms}
        settings["base_timestamp"] = batch.base_timestamp
    rebuilt = build(batch, batch.format, **settings)
    assert list(rebuilt) == list(batch)
    if batch.compression == "none" and (batch.timestamp_type == "create" or batch.magic < 2):
        assert rebuilt.encode() == bytes.fromhex(row["hex"])
    [again] = read_batches(rebuilt.encode())
    assert list(again) == list(batch)
    assert (again.compression, again.timestamp_type) == (batch.compression, batch.timestamp_type)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_trace_shows_every_byte(row: dict[str, Any]) -> None:
    data = bytes.fromhex(row["hex"])
    seen = trace(format_of(f"v{row['batch']['magic']}").layout, data)
    assert seen.error is None and seen.canonical
    spaces = [
        (seen.root, data),
        *((node, node.decompressed) for node in seen.root.walk() if node.decompressed is not None),
    ]
    for top, space in spaces:
        assert owned(top, inner=top is not seen.root) == len(space)


def owned(node: Any, *, inner: bool) -> int:
    """Count the input bytes that a node and its children cover. If `inner` is set, count decompressed bytes instead."""
    children = node.children
    own = 0 if inner else node.header_length + node.trailer_length
    return own + sum(
        child.header_length if child.decompressed is not None else owned(child, inner=False)
        for child in (() if node.decompressed is not None and not inner else children)
    )


@pytest.mark.parametrize("row", [row for row in ROWS if row["batch"]["isControl"]], ids=lambda row: row["file"])
def test_control_records(row: dict[str, Any]) -> None:
    for record, (*_, kind) in zip(the_batch(row), row["records"], strict=True):
        marker = control_record(record)
        assert marker.type == kind.lower()
        assert marker.message is not None


def test_real_batches_cover_all_formats_and_codecs() -> None:
    found = {(row["batch"]["magic"], row["batch"]["compression"]) for row in ROWS}
    old = {(magic, codec) for magic in (0, 1) for codec in ("none", "gzip", "snappy", "lz4")}
    assert found == old | {(2, codec) for codec in ("none", "gzip", "snappy", "lz4", "zstd")}
    assert any(not row["records"] for row in ROWS)
    assert any(row["batch"]["deleteHorizonMs"] is not None for row in ROWS)
