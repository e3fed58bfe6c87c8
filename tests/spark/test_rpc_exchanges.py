import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from network_packets import Segment, jsonl, pcap, sized
from pyarrow import parquet
from pyspark.sql.types import StructType
from small_logs import write_segment
from written_logs import arrow_rows

import tagwire_messages as messages
from tagwire.captures import CapturedFrame
from tagwire.records import Record, build
from tagwire_spark import PipelineError
from tagwire_spark.rpc_exchanges import exchanges
from tagwire_spark.rpc_source import RpcReader, full_schema, rpc_query

ASK = messages.registry.encode_request(messages.HeartbeatRequest(group_id="g"), 4, correlation_id=7, client_id="me")
ANSWER = messages.registry.encode_response(messages.HeartbeatResponse(throttle_time_ms=3), 4, correlation_id=7)
CAPTURED = Path(__file__).parents[1] / "data" / "captures" / "captures.jsonl.gz"
NANOSECONDS = 1_700_000_000_000_000_000


def reader(path: str | Path, *columns: str, **options: str) -> RpcReader:
    query = rpc_query({"path": str(path), **options})
    schema = full_schema(query)
    if columns:
        schema = StructType([schema[name] for name in columns])
    return RpcReader(query, schema, schema.names)


def read(path: str | Path, *columns: str, **options: str) -> list[dict[str, Any]]:
    opened = reader(path, *columns, **options)
    return [row for task in opened.partitions() for batch in opened.read(task) for row in batch.to_pylist()]


@pytest.mark.parametrize("mode", ["PERMISSIVE", "FAILFAST"])
@pytest.mark.parametrize(("facts", "text"), [
    ({"timestamp": NANOSECONDS}, "timestamp: 1700000000000000000 milliseconds since 1970 is out of range"),
    ({"timestamp": float("inf")}, "it is not valid JSON"),
    ({"timestamp": float("nan")}, "it is not valid JSON"),
    ({"timestamp": 10**400}, "timestamp: expected milliseconds since 1970"),
    ({"timestamp": []}, "timestamp: expected milliseconds since 1970"),
    ({"api_key": 1 << 40}, "api_key: expected a 16-bit integer, got 1099511627776"),
    ({"data": 1_000_000}, "data: expected bytes, got int"),
    ({"data": "00"}, "data: expected bytes, got str"),
    ({"hex": "0"}, "hex: expected"),
    ({"timestamp": "noon"}, "timestamp: expected"),
])  # fmt: skip
def test_invalid_rows_are_rejected_as_frames(tmp_path: Path, facts: dict[str, Any], text: str, mode: str) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"dir": "req", "hex": ASK.hex()}, {"dir": "req", "hex": ASK.hex(), **facts})
    with pytest.raises(PipelineError, match=r"^\[MALFORMED_CAPTURED_FRAMES\] .*a\.jsonl: line 2 is no") as rejected:
        read(path, mode=mode)
    assert text in str(rejected.value)


def test_the_apis_of_requests_that_are_cut_off(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", *({"dir": "req", "hex": ASK[:size].hex()} for size in (3, 4)))
    found = read(path, "apiKey", "apiVersion", "requestSize", mode="PERMISSIVE")
    assert [tuple(row.values()) for row in found] == [(None, None, 3), (12, 4, 4)]


@pytest.mark.parametrize(("name", "column"), [
    ("timestamp", pa.array([float("nan")])),
    ("timestamp", pa.array([1 << 60], pa.timestamp("us"))),
    ("data", pa.array([1_000_000])),
    ("conn", pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([b"\xff"]).view(pa.string()))),
])  # fmt: skip
def test_invalid_rows_of_parquet_are_rejected_as_frames(tmp_path: Path, name: str, column: Any) -> None:
    columns = {"dir": pa.array(["req"]), "data": pa.array([ASK]), name: column}
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(PipelineError, match=r"^\[MALFORMED_CAPTURED_FRAMES\] .*a\.parquet(: row 1 is| can't be read)"):
        read(tmp_path / "a.parquet")


def test_strings_that_are_not_utf8(tmp_path: Path) -> None:
    """Check that strings and file names that aren't UTF-8 are shown with `?`, but connections stay distinct."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    requests = [
        {"dir": "req", "hex": ASK.hex(), "conn": text, "run": text, "client_label": text} for text in "\ud800\ud801"
    ]
    path = jsonl(folder / "a.jsonl", *requests, {"dir": "resp", "hex": ANSWER.hex(), "conn": "\ud801", "run": "\ud801"})
    names = ("line", "run", "connection", "clientLabel", "file", "responseSize")
    found = sorted(tuple(row.values()) for row in read(path, *names))
    file = f"{tmp_path}/caf?/a.jsonl"
    assert found == [(1, "?", "?", "?", file, None), (2, "?", "?", "?", file, len(ANSWER))]
    jsonl(path, [])
    with pytest.raises(PipelineError) as rejected:
        read(path)
    assert f"{file}: line 1 is not a captured frame" in str(rejected.value)


def test_pipelined_requests_with_one_correlation_id(tmp_path: Path) -> None:
    """Check that a response captured before its request is paired with this request."""
    registry = messages.registry
    requests = [registry.encode_request(each, 3, correlation_id=5) for each in (
        messages.SyncGroupRequest(), messages.ProduceRequest(acks=0), messages.ListGroupsRequest())]  # fmt: skip
    answers = [registry.encode_response(each, 3, correlation_id=5) for each in (
        messages.SyncGroupResponse(), messages.ListGroupsResponse())]  # fmt: skip
    request_rows = [{"dir": "req", "hex": each.hex()} for each in requests]
    answer_rows = [{"dir": "resp", "hex": each.hex()} for each in answers]
    for number, rows in enumerate(([*request_rows, *answer_rows], [*answer_rows, *request_rows])):
        found = read(jsonl(tmp_path / f"{number}.jsonl", *rows), "api", "requestSize", "responseSize")
        assert sorted((row["api"], row["responseSize"]) for row in found if row["requestSize"]) == [
            ("ListGroups", len(answers[1])), ("Produce", None), ("SyncGroup", len(answers[0]))
        ]  # fmt: skip


def test_requests_that_get_no_response_are_kept() -> None:
    """Check gaps, reused connection names, and SASL tokens: it is unknown which request a response answers."""
    asks = [CapturedFrame(number, True, ASK) for number in range(4)]
    close, gap = CapturedFrame(4, True, b"", is_close=True), CapturedFrame(5, True, b"", gap="lost")
    handshake = messages.registry.encode_request(messages.SaslHandshakeRequest(mechanism="PLAIN"), 0, correlation_id=1)
    login = [CapturedFrame(n, n < 9, data, conn="b") for n, data in enumerate((handshake, b"\0user\0secret", b""), 7)]
    events = [asks[0], close, asks[1], CapturedFrame(6, False, ANSWER), *asks[2:], gap, *login]
    found = [[side and side.number for side in each] for each in exchanges(events, messages.registry)]
    assert found == [[1, 6], [2, None], [3, None], [5, None], [8, None], [None, 9], [0, None], [7, None]]
    assert [bool(each.gap) and each.data == b"" for each in login] == [False, True, True]


def test_valid_times_and_numbers(tmp_path: Path) -> None:
    facts = {"timestamp": 1_700_000_000_000.5, "api_key": "12", "api_version": 4.0}
    [row] = read(jsonl(tmp_path / "a.jsonl", {"dir": "resp", "hex": ANSWER.hex(), **facts}), mode="FAILFAST")
    assert (row["apiKey"], row["apiVersion"], row["responseTime"].microsecond) == (12, 4, 500)


CAPTURES = {
    "network capture": pcap([Segment(0, sized(ASK))]),
    "captured frames": json.dumps({"dir": "req", "hex": ASK.hex()}).encode(),
}


@pytest.mark.parametrize("kind", CAPTURES)
def test_a_capture_read_as_a_log(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a").write_bytes(CAPTURES[kind])
    with pytest.raises(PipelineError, match=rf"^\[MALFORMED_KAFKA_LOG\] .*a: {kind}, not .* use format kafka_rpc"):
        list(arrow_rows(tmp_path / "a"))


def test_a_missing_library_has_a_condition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.pcap").write_bytes(CAPTURES["network capture"])
    monkeypatch.setitem(sys.modules, "dpkt", None)
    with pytest.raises(PipelineError, match=r"^\[MISSING_LIBRARY\] dpkt is not installed; .*'tagwire\[pcap\]'"):
        read(tmp_path / "a.pcap")
    write_segment(tmp_path / "t-0", build([Record(0, 1, None, b"x")], "v2", compression="snappy"))
    monkeypatch.setitem(sys.modules, "cramjam", None)
    with pytest.raises(PipelineError, match=r"^\[MISSING_LIBRARY\] "):
        list(arrow_rows(tmp_path / "t-0"))


def rows(path: str | Path) -> list[dict[str, Any]]:
    return [row | {"file": Path(row["file"]).name} for row in read(path)]


def capture(kind: str) -> bytes:
    if kind == "pcap":
        return pcap([Segment(0, sized(ASK))])
    if kind == "jsonl.gz":
        return CAPTURED.read_bytes()
    frames: list[dict[str, Any]] = [{"dir": name, "data": data, "conn": str(n)} for n in range(3000)
              for name, data in (("req", ASK), ("resp", ANSWER))]  # fmt: skip
    if kind == "jsonl":
        return b"".join(
            json.dumps({**each, "data": None, "hex": each["data"].hex()}).encode() + b"\n" for each in frames
        )
    out = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(frames), out, row_group_size=2000)
    return bytes(out.getvalue())


@pytest.mark.parametrize(
    "kind", ["jsonl.gz", "pcap", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("jsonl", "parquet"))]
)
def test_remote_rows_equal_those_of_a_local_file(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "pcap":
        pytest.importorskip("dpkt", reason="dpkt is not installed: pip install 'tagwire[pcap]'")
    data = capture(kind)
    (tmp_path / f"a.{kind}").write_bytes(data)
    store.pipe(f"/c/a.{kind}", data)
    expected = rows(tmp_path / f"a.{kind}")
    remote = reader(f"counted://c/a.{kind}")
    [task] = remote.partitions()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))  # makes any temporary copy fail
    store.requests.clear()
    found = [row for batch in remote.read(task) for row in batch.to_pylist()]
    assert [row | {"file": f"a.{kind}"} for row in found] == expected and expected
    gets = [each for each in store.requests if each.startswith("get")]
    assert len(gets) <= 2 + 2 * (kind == "parquet") + len(data) // (1 << 20)


def test_requests_and_responses_on_one_port(tmp_path: Path) -> None:
    """Check a network capture whose segments overlap and are out of order."""
    pytest.importorskip("dpkt", reason="dpkt is not installed: pip install 'tagwire[pcap]'")
    ask, start = sized(ASK), (1 << 32) - 6  # sequence numbers wrap around
    segments = [Segment(start - 1, b"", flags="S"), Segment(start, ask[:5]), Segment(start + 9, ask[9:])]
    segments += [Segment(start + 2, ask[2:9]), Segment(100, sized(ANSWER), is_request=False)]
    (tmp_path / "a.pcap").write_bytes(pcap(segments))
    [row] = read(tmp_path, "api", "requestSize", "responseSize", "latencyMs")
    assert row == {"api": "Heartbeat", "requestSize": len(ASK), "responseSize": len(ANSWER), "latencyMs": 1.0}
    assert read(tmp_path, port="9093") == []


def test_a_capture_that_changes_after_it_was_listed(store: Any) -> None:
    data = capture("jsonl")
    store.pipe("/c/a.jsonl", data)
    remote = reader("counted://c")
    [task] = remote.partitions()
    store.pipe("/c/a.jsonl", gzip.compress(data))
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_CHANGED\] counted://c/a\.jsonl was replaced"):
        list(remote.read(task))
    store.rm("/c/a.jsonl")
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_NOT_FOUND\] counted://c/a\.jsonl: .*the file no longer exists"):
        list(remote.read(task))


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
