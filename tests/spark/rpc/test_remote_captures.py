import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

import pyarrow as pa
from network_packets import Segment, pcap
from object_storage import counted
from pyarrow import parquet

import tagwire_messages as messages
from tagwire_spark import PipelineError
from tagwire_spark.sources.rpc import RpcReader, full_schema, rpc_query

ASK = messages.registry.encode_request(messages.HeartbeatRequest(group_id="g"), 4, correlation_id=7, client_id="me")
ANSWER = messages.registry.encode_response(messages.HeartbeatResponse(throttle_time_ms=3), 4, correlation_id=7)
CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"


@pytest.fixture
def store() -> Iterator[Any]:
    yield counted()
    counted()


def reader(path: str | Path) -> RpcReader:
    query = rpc_query({"path": str(path)})
    schema = full_schema(query)
    return RpcReader(query, schema, schema.names)


def rows(path: str | Path) -> list[dict[str, Any]]:
    read = reader(path)
    return [
        row | {"file": Path(row["file"]).name}
        for task in read.partitions()
        for batch in read.read(task)
        for row in batch.to_pylist()
    ]


def capture(kind: str) -> bytes:
    if kind == "pcap":
        return pcap([Segment(0, len(ASK).to_bytes(4, "big") + ASK)])
    if kind == "jsonl.gz":
        return CAPTURES.read_bytes()
    frames: list[dict[str, Any]] = [{"dir": name, "data": data, "conn": str(n)} for n in range(3000)
              for name, data in (("req", ASK), ("resp", ANSWER))]  # fmt: skip
    if kind == "jsonl":
        return b"".join(
            json.dumps({**each, "data": None, "hex": each["data"].hex()}).encode() + b"\n" for each in frames
        )
    out = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(frames), out, row_group_size=2000)
    return bytes(out.getvalue())


@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz", "parquet", "pcap"])
def test_remote_rows_equal_those_of_a_local_file(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "pcap":
        pytest.importorskip("dpkt", reason="dpkt is not installed: pip install 'tagwire[pcap]'")
    data = capture(kind)
    (tmp_path / f"a.{kind}").write_bytes(data)
    store.pipe(f"/c/a.{kind}", data)
    expected = rows(tmp_path / f"a.{kind}")
    read = reader(f"counted://c/a.{kind}")
    [task] = read.partitions()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))  # makes any temporary copy fail
    store.requests.clear()
    found = [row for batch in read.read(task) for row in batch.to_pylist()]
    assert [row | {"file": f"a.{kind}"} for row in found] == expected and expected
    gets = [each for each in store.requests if each.startswith("get")]
    assert len(gets) <= 2 + 2 * (kind == "parquet") + len(data) // (1 << 20)


def test_a_capture_that_changes_after_it_was_listed(store: Any) -> None:
    lines = capture("jsonl")
    store.pipe("/c/a.jsonl", lines)
    read = reader("counted://c")
    [task] = read.partitions()
    store.pipe("/c/a.jsonl", gzip.compress(lines))
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_CHANGED\] counted://c/a\.jsonl was replaced"):
        list(read.read(task))
    store.rm("/c/a.jsonl")
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_NOT_FOUND\] counted://c/a\.jsonl: .*the file no longer exists"):
        list(read.read(task))


def test_errors_name_the_url(store: Any) -> None:
    for data, text in (
        (b'{"dir": "req"}\n', "line 1 is not a captured frame: hex: expected"),
        (b"no JSON", "line 1 is not a captured frame"),
        (gzip.compress(capture("jsonl"), mtime=0)[:-100], "can't be read"),
        (capture("parquet")[:-100], "can't be read"),
    ):
        store.pipe("/c/a", data)
        with pytest.raises(PipelineError, match=rf"MALFORMED_CAPTURED_FRAMES\] counted://c/a.*{text}"):
            rows("counted://c/a")
