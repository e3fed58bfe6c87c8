import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from network_packets import Segment, jsonl, pcap, sized
from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import tagwire_messages as messages

pytestmark = pytest.mark.spark

CAPTURES = Path(__file__).parents[1] / "data" / "captures" / "captures.jsonl.gz"
ASK = messages.registry.encode_request(messages.HeartbeatRequest(group_id="g"), 4, correlation_id=7, client_id="me")
ANSWER = messages.registry.encode_response(messages.HeartbeatResponse(throttle_time_ms=3), 4, correlation_id=7)


def load(spark: SparkSession, path: Path | str, **options: Any) -> DataFrame:
    return spark.read.format("kafka_rpc").options(**options).load(str(path))


def frame(kind: str, data: bytes, **more: Any) -> dict[str, Any]:
    return {"dir": kind, "hex": data.hex(), **more}


@pytest.fixture(scope="module")
def captured() -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(CAPTURES.read_bytes()).splitlines()]


def test_every_captured_frame_is_read_once(spark: SparkSession, captured: list[dict[str, Any]]) -> None:
    df = load(spark, CAPTURES, body="none")
    rows = df.select("requestSize", "responseSize", "requestError", "responseError", "api", "apiVersion").collect()
    assert sum(row.requestSize is not None for row in rows) == sum(row["dir"] == "req" for row in captured)
    assert sum(row.responseSize is not None for row in rows) == sum(row["dir"] == "resp" for row in captured)
    assert any(row.requestSize and row.responseSize for row in rows)
    # The broker responded in version 0, because it doesn't support version 99.
    assert [(row.api, row.apiVersion) for row in rows if row.requestError] == [("ApiVersions", 99)]
    assert not [row for row in rows if row.responseError]


def test_bodies_equal_those_that_the_library_decodes(spark: SparkSession, captured: list[dict[str, Any]]) -> None:
    rows = load(spark, CAPTURES, api="Metadata").select("request", "response", "line", "clientId").collect()
    assert len(rows) > 20
    for row in rows:
        source = captured[row.line - 1]
        data = bytes.fromhex(source["hex"])
        if source["dir"] == "req":
            read = messages.registry.decode_request(data)
            assert row.clientId == read.header.client_id and json.loads(row.request) == read.message.to_json(
                read.version
            )
        else:
            answer = messages.registry.decode_response(data, 3, source["api_version"])
            assert row.clientId is None and json.loads(row.response) == answer.message.to_json(answer.version)


def test_bodies_as_structs(spark: SparkSession) -> None:
    as_json = load(spark, CAPTURES, api="Heartbeat").select("line", "request", "response").collect()
    structs = load(spark, CAPTURES, api="Heartbeat", body="struct").select("line", "request", "response").collect()
    assert [row.line for row in structs] == [row.line for row in as_json]
    for struct, text in zip(structs, as_json, strict=True):
        assert (struct.request and struct.request.group_id) == (text.request and json.loads(text.request)["groupId"])
        assert (struct.response and struct.response.error_code) == (
            text.response and json.loads(text.response)["errorCode"]
        )


@pytest.mark.parametrize("answer_first", [False, True])
def test_a_pair(spark: SparkSession, tmp_path: Path, answer_first: bool) -> None:
    rows = [frame("req", ASK, timestamp=1000), frame("resp", ANSWER, timestamp="1970-01-01T00:00:01.250Z")]
    [row] = load(spark, jsonl(tmp_path / "a.jsonl", *(reversed(rows) if answer_first else rows))).collect()
    assert (row.api, row.apiVersion, row.headerVersion, row.correlationId, row.clientId) == ("Heartbeat", 4, 2, 7, "me")
    assert (row.latencyMs, row.requestSize, row.responseSize) == (250.0, len(ASK), len(ANSWER))
    assert json.loads(row.response)["throttleTimeMs"] == 3 and row.responseVersion == 4


def test_connections_and_ids_that_are_used_again(spark: SparkSession, tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "a.jsonl",
        frame("req", ASK, conn=1),
        frame("req", ASK, conn=2),
        frame("resp", ANSWER, conn=2),
        frame("req", ASK, conn=1),
        frame("resp", ANSWER, conn=1),
        frame("resp", ANSWER, conn=3),
        frame("req", ASK, conn=4),
        # This response doesn't belong to the request before it, because their versions differ.
        frame("resp", ANSWER, conn=4, api_key=12, api_version=3),
    )
    rows = sorted(
        (row.connection, row.line, row.requestSize is not None, row.responseSize is not None)
        for row in load(spark, path).collect()
    )
    assert rows == [
        ("1", 1, True, True),  # the response belongs to the first request
        ("1", 4, True, False),
        ("2", 2, True, True),
        ("3", 6, False, True),
        ("4", 7, True, False),
        ("4", 8, False, True),
    ]


def test_rows_of_parquet(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"dir": "req", "data": ASK, "conn": 1}, {"dir": "resp", "data": ANSWER, "conn": 1}]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "frames.parquet")
    jsonl(tmp_path / "more.jsonl", frame("req", ASK))
    (tmp_path / "_SUCCESS").touch()
    found = load(spark, tmp_path).select("api", "responseSize").collect()
    assert sorted(map(tuple, found), key=str) == [("Heartbeat", len(ANSWER)), ("Heartbeat", None)]


def test_invalid_frame(spark: SparkSession, tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", frame("req", ASK[:-3]), frame("resp", ANSWER, api_key=12, api_version=4))
    [row] = load(spark, path).collect()
    assert row.requestError.reason and row.request is None and row.clientId == "me" and row.responseError is None
    with pytest.raises(PySparkException, match=r"\[MALFORMED_KAFKA_MESSAGE\].*line 1: request of API 12 v4"):
        load(spark, path, mode="FAILFAST").collect()
    [struct] = load(spark, path, body="struct", api="Heartbeat").collect()
    assert struct.request.group_id is None and struct.request._error.offset and struct.response.error_code == 0
    assert struct.requestError == row.requestError and struct.responseError is None
    with pytest.raises(PySparkException, match=r"\[MALFORMED_KAFKA_MESSAGE\].*line 1: request of API 12 v4"):
        load(spark, path, mode="FAILFAST", body="struct", api="Heartbeat").collect()


def test_responses_to_an_unsupported_version_are_decoded_in_version_0(spark: SparkSession) -> None:
    probes = "apiVersion = 99 and response is not null"
    as_json = load(spark, CAPTURES, api="ApiVersions").where(probes).collect()
    structs = load(spark, CAPTURES, api="ApiVersions", body="struct").where(probes).collect()
    assert as_json and [json.loads(row.response)["errorCode"] for row in as_json] == [35] * len(as_json)
    assert [(row.response.error_code, row.response._error, row.responseError) for row in structs] == [
        (35, None, None) for _ in as_json
    ]


def test_frames_that_end_at_once(spark: SparkSession, tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "a.jsonl", *(frame(kind, ASK[:n], conn=f"{kind}{n}") for kind in ("req", "resp") for n in range(8))
    )
    for row in load(spark, path).collect():
        assert row.requestError or row.responseError


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"body": "struct"}, "needs option 'api'"),
        ({"bodyy": "json"}, "'body'"),
        ({"api": "Metdata"}, "MetadataRequest"),
    ],
)
def test_options_that_are_rejected(spark: SparkSession, options: dict[str, str], text: str) -> None:
    with pytest.raises(PySparkException, match=text):
        load(spark, CAPTURES, **options).collect()
    with pytest.raises(PySparkException, match="UNKNOWN_COLUMN_OF_SOURCE"):
        spark.read.format("kafka_rpc").schema("nothing long").load(str(CAPTURES)).collect()


def test_network_capture_with_missing_packets(spark: SparkSession, tmp_path: Path) -> None:
    pytest.importorskip("dpkt", reason="dpkt is not installed: pip install 'tagwire[pcap]'")
    requests = [messages.registry.encode_request(messages.HeartbeatRequest(), 4, correlation_id=n) for n in range(9)]
    size = len(sized(requests[0]))
    segments = [Segment(0, b"", flags="S"), *(Segment(1 + n * size, sized(each)) for n, each in enumerate(requests))]
    del segments[4:6]
    (tmp_path / "a.pcap").write_bytes(pcap(segments))
    for options in ({}, {"api": "Heartbeat"}, {"api": "Heartbeat", "body": "struct"}):
        rows = load(spark, tmp_path / "a.pcap", **options).orderBy("requestTime", "line").collect()
        assert [row.correlationId for row in rows if row.api] == [0, 1, 2, 5, 6, 7, 8]
        [gap] = [row for row in rows if not row.api]
        assert gap.requestError.reason.startswith(f"gap in the requests: {2 * size} bytes missing")
        assert gap.connection == "10.0.0.1:40000 -> 10.0.0.2:9092"
        assert (gap.requestSize, gap.correlationId, gap.responseError) == (None, None, None)
    with pytest.raises(PySparkException, match=r"\[MALFORMED_KAFKA_MESSAGE\].*a.pcap: frame \d+: request: gap in the"):
        load(spark, tmp_path / "a.pcap", mode="FAILFAST").collect()
