import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsed import HEARTBEAT, METADATA, REPLY, found, line, read_listing, registry, write_lines
from build_package import build_package

import tagwire_messages as messages
import tagwire_records
from tagwire.captures import CapturedFrame, read
from tagwire.captures import read as read_capture
from tagwire.records import read_batches
from tagwire.sensitive import showing_sensitive
from tagwire_cli.explaining.units import explain_captured
from tagwire_messages.produce_request import PartitionProduceData, TopicProduceData
from tagwire_workbench.browsing import frame_listing
from tagwire_workbench.browsing.frame_listing import FrameListing
from tagwire_workbench.browsing.listing import ExplainedEntry, searched_bytes_of

CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"
PRODUCE, FETCH = 0, 1


@pytest.fixture(scope="module")
def carriers() -> list[CapturedFrame]:
    frames: dict[object, CapturedFrame] = {}
    for each in read(CAPTURES):
        key = PRODUCE if each.is_request else FETCH
        if each.api is not None and each.api[0] == key and 200 < len(each.data) < 9000:
            frames.setdefault((each.api, each.row["client_label"]), each)
    assert len(frames) > 40
    return list(frames.values())


def written(each: CapturedFrame, data: bytes) -> str:
    assert each.api is not None
    return line("req" if each.is_request else "resp", data, api_key=each.api[0], api_version=each.api[1])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: data, id="as they are"),
        pytest.param(lambda data: data[:-30] + bytes([data[-30] ^ 1]) + data[-29:], id="a bit flipped"),
        pytest.param(lambda data: data[:-1], id="cut"),
    ],
)
def test_records_agree_with_the_trace(
    tmp_path: Path, carriers: list[CapturedFrame], change: Callable[[bytes], bytes]
) -> None:
    path = write_lines(tmp_path / "a.jsonl", *(written(each, change(each.data)) for each in carriers))
    listing = read_listing(path)
    assert isinstance(listing, FrameListing)
    for entry in range(listing.count):
        frame = listing.file.frame(listing.table, entry)
        shown = explain_captured(listing.settings, frame)
        assert bool(listing.error_of(entry)) == bool(shown.failure), entry
        expected = searched_bytes_of(ExplainedEntry(frame.data, shown))
        assert sorted(list(listing.searched_bytes(entry))[1:]) == sorted(expected), entry


def test_records_that_are_fine_need_no_trace(
    tmp_path: Path, carriers: list[CapturedFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Older versions are left out, because they may contain wrapper messages, which need a trace.
    current = [each for each in carriers if each.api in ((PRODUCE, 9), (FETCH, 12))]
    listing = read_listing(write_lines(tmp_path / "a.jsonl", *(written(each, each.data) for each in current)))
    assert isinstance(listing, FrameListing) and listing.count > 1
    monkeypatch.delattr(frame_listing, "explain_captured")
    for entry in range(listing.count):
        assert not listing.error_of(entry)
        assert list(listing.searched_bytes(entry))


def spec(kind: str, name: str, *fields: tuple[str, str], **keys: int) -> dict[str, Any]:
    rows = [{"name": each, "type": type, "versions": "0+"} for each, type in fields]
    head = {"type": kind, "name": name, "validVersions": "0-1", "flexibleVersions": "none", "fields": rows}
    return head | keys


SPECS = [
    spec("header", "RequestHeader", ("RequestApiKey", "int16"), ("RequestApiVersion", "int16")),
    spec("header", "ResponseHeader", ("Hops", "int8")),
    spec("request", "AskRequest", ("Question", "string"), apiKey=4),
    spec("response", "AskResponse", ("Answer", "string"), apiKey=4),
]


@pytest.mark.usefixtures("own_modules")
def test_responses_without_correlation_ids_belong_to_requests_by_order(tmp_path: Path) -> None:
    asking: Any = build_package(tmp_path, "asking", SPECS)
    ask = [asking.registry.encode_request(asking.AskRequest(question=each), 0) for each in ("who", "why")]
    answers = [asking.registry.encode_response(asking.AskResponse(answer=each), 0) for each in ("I", "so", "no")]
    lines = [line("req", ask[0]), line("req", ask[1], 2), line("req", ask[1])]
    lines += [line("resp", each) for each in answers]
    listing = read_listing(write_lines(tmp_path / "a.jsonl", *lines), package=asking.registry)
    assert isinstance(listing, FrameListing)
    assert [listing.partner(entry) for entry in range(6)] == [3, None, 4, 0, 2, None]
    assert [listing.cells(entry)[4] for entry in range(6)] == [""] * 6
    [trace] = listing.explain(4).explained.traces
    assert [node.value for part in trace.parts for node in part.walk() if node.path == "answer"] == ["so"]
    assert found(listing, "id=0") == []


SAMPLE_LOG = Path(__file__).parents[2] / "data" / "sample_log"
FIRST_SEGMENT = SAMPLE_LOG / "orders-0" / "00000000000000000000.log"


def test_frames_have_facts_and_partners(capture: Path) -> None:
    listing = read_listing(capture)
    cells = [tuple(listing.cells(entry)) for entry in range(listing.count)]
    assert cells == [
        ("1", "req", "Metadata", "12", "7", str(len(METADATA)), "alice's tool", "r 1"),
        ("2", "req", "Heartbeat", "4", "8", str(len(HEARTBEAT)), "", "r 2"),
        ("3", "resp", "Metadata", "12", "7", str(len(REPLY)), "", "r 1"),
        ("4", "!", "not a frame", "", "", "", "", ""),
        ("5", "req", "Metadata", "12", "7", str(len(METADATA) - 3), "", "r 2"),
        ("7", "resp", "?", "", "7", str(len(REPLY)), "", "r 3"),
    ]
    assert [listing.partner(entry) for entry in range(6)] == [2, None, 0, None, None, None]
    assert (listing.entry_of(7), listing.entry_of(6), listing.entry_of(8)) == (5, 5, None)


def test_errors_are_explained_with_what_was_read(capture: Path) -> None:
    listing = read_listing(capture)
    assert [listing.has_error(entry) for entry in range(6)] == [False, False, False, True, True, False]
    assert listing.error_of(3) == f"{capture.name}: line 4 is not a captured frame: it is not valid JSON"
    cut = listing.explain(4)
    assert cut.data == METADATA[:-3]
    assert cut.explained.traces[0].error is not None
    assert cut.explained.traces[0].root.end == len(METADATA) - 3
    assert listing.explain(5).explained.guess is not None


@pytest.mark.parametrize(
    ("keys", "connection"), [({}, "?"), ({"conn": 3}, "3"), ({"run": "r"}, "r"), ({"run": "r", "conn": 0}, "r 0")]
)
def test_line_with_little_information_about_its_connection(
    tmp_path: Path, keys: dict[str, Any], connection: str
) -> None:
    path = write_lines(tmp_path / "a.jsonl", json.dumps({"dir": "req", "hex": METADATA.hex(), **keys}))
    listing = read_listing(path)
    assert listing.cells(0)[-1] == connection
    assert found(listing, f"conn='{connection}'") == [1]


def test_hostile_facts_are_shown_and_found(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "a.jsonl",
        line("req", METADATA, client_label="e\x1b[31m\n\u65e5", run="a,b"),
        line("req", b"\0\3"),
        line("resp", b"", api_key=10**30, api_version=-1),
        line("req", b"\x7f\xff\0\1" + bytes(9)),
    )
    listing = read_listing(path)
    cells = [tuple(listing.cells(entry)) for entry in range(listing.count)]
    assert cells[0][-2:] == ("e\\x1b[31m\\n\u65e5", "a,b 1")
    assert [each[2:4] for each in cells[1:]] == [("?", ""), ("not a frame", ""), ("API 32767", "1")]
    assert listing.neighbors(3)["api"] == "32767"
    assert found(listing, "conn='a,b 1'") == [1]
    assert found(listing, "is=error") == [2, 3, 4]
    assert all(listing.explain(entry).explained.failure for entry in (1, 2, 3))


def test_a_package_without_headers_reads_no_frames(tmp_path: Path) -> None:
    listing = read_listing(write_lines(tmp_path / "a.jsonl", line("req", METADATA)), package=tagwire_records.registry)
    assert found(listing, "is=error") == [1]
    assert "tagwire_records defines no RequestHeader" in listing.explain(0).explained.failure


def test_captures_of_real_clients_agree_with_their_lines() -> None:
    listing = read_listing(CAPTURES)
    lines = list(read_capture(CAPTURES))
    assert listing.count == len(lines) == 6777
    for entry in (0, 6776, 3000, 2999, 12):  # seek forwards and backwards
        assert listing.explain(entry).data == lines[entry].data
    assert found(listing, "api=ApiVersions version=99") != []


def test_bytes_that_are_compressed_are_searched_decompressed(tmp_path: Path) -> None:
    packed = next(batch for batch in read_batches(FIRST_SEGMENT.read_bytes()) if batch.codec == "gzip").encode()
    assert b"south" not in packed
    partition = PartitionProduceData(index=0, records=packed)
    topic = TopicProduceData(name="orders", partition_data=[partition])
    request = messages.ProduceRequest(acks=1, timeout_ms=1, topic_data=[topic])
    produce = registry.encode_request(request, 9, correlation_id=1)
    capture = write_lines(tmp_path / "a.jsonl", line("req", METADATA), line("req", produce))
    assert found(read_listing(capture), "South") == [2]
    assert found(read_listing(SAMPLE_LOG), "codec=gzip South partition=orders-0") == [3, 6]


def test_sensitive_bytes_are_not_found_unless_they_are_shown(tmp_path: Path) -> None:
    secret = registry.encode_request(messages.SaslAuthenticateRequest(auth_bytes=b"hunter2"), 2, correlation_id=1)
    handshake = registry.encode_request(messages.SaslHandshakeRequest(mechanism="PLAIN"), 0, correlation_id=2)
    path = write_lines(tmp_path / "a.jsonl", *(line("req", each) for each in (secret, handshake, b"\0a\0hunter2")))
    assert found(read_listing(path), "hunter2") == [] and "SASL token" in read_listing(path).error_of(2)
    with showing_sensitive():
        assert found(read_listing(path), "hunter2") == [1, 3]
