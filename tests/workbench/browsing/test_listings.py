import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from browsed import HEARTBEAT, METADATA, REPLY, found, line, listing_of, read_listing, registry, write_lines
from network_packets import Segment, pcap

import tagwire_messages as messages
import tagwire_records
from tagwire.captures import read as read_capture
from tagwire.errors import TagwireError
from tagwire.records import read_batches
from tagwire.sensitive import showing_sensitive
from tagwire_cli.input.filters import FilterError
from tagwire_messages.produce_request import PartitionProduceData, TopicProduceData
from tagwire_workbench.browsing.growing_file import open_growing

CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"
SAMPLE_LOG = Path(__file__).parents[2] / "data" / "sample_log"
FIRST_SEGMENT = SAMPLE_LOG / "orders-0" / "00000000000000000000.log"


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write_lines(
        tmp_path / "a.jsonl",
        line("req", METADATA, client_label="alice's tool"),
        line("req", HEARTBEAT, 2),
        line("resp", REPLY),
        "not JSON",
        line("req", METADATA[:-3], 2),
        "",
        line("resp", REPLY, 3),
    )


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


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", [1, 2, 3, 4, 5, 7]),
        ("api=metadata", [1, 3, 5]),
        ("api=MetadataRequest,12", [1, 2, 3, 5]),
        ("-api=3", [2, 4, 7]),
        ("api=3 dir=req", [1, 5]),
        ("dir=response", [3, 7]),
        ("version=5-", [1, 3, 5]),
        ("version=0-4", [2]),
        ("id=8", [2]),
        ("conn='r 2'", [2, 5]),
        ("client=ALICE", [1]),
        ("is=error", [4, 5]),
        ("-is=error dir=req", [1, 2]),
        ("ORDERS", [2]),
        ("alice", [1, 5]),
        ("'alice'\"'\"'s tool'", [1]),
        ("text=orders", [2]),
        ("nothing", []),
    ],
)
def test_filters(capture: Path, text: str, numbers: list[int]) -> None:
    assert found(read_listing(capture), text) == numbers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apis=Fetch", "unknown filter 'apis'; did you mean 'api'?"),
        ("api=", "the filter 'api' has no value"),
        ("api=Fetsch", "api=Fetsch: unknown API; did you mean 'Fetch'?"),
        ("version=x", "version=x: expected a number or a range such as 3-5, got 'x'"),
        ("dir=up", "dir=up: expected 'request' or 'response'"),
        ("is=odd", "is=odd: expected 'error'"),
        ('"a', "invalid filter '\"a': no closing quotation"),
    ],
)
def test_filters_that_make_no_sense(capture: Path, text: str, message: str) -> None:
    with pytest.raises(FilterError) as error:
        found(read_listing(capture), text)
    assert str(error.value).startswith(message)


def test_errors_are_explained_with_what_was_read(capture: Path) -> None:
    listing = read_listing(capture)
    assert [listing.has_error(entry) for entry in range(6)] == [False, False, False, True, True, False]
    assert listing.error_of(3) == f"{capture.name}: line 4 is not a captured frame: it is not valid JSON"
    cut = listing.look(4)
    assert cut.data == METADATA[:-3]
    assert cut.explained.traces[0].error is not None
    assert cut.explained.traces[0].root.end == len(METADATA) - 3
    assert listing.look(5).explained.guess is not None


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
    assert found(listing, "conn='a,b 1'") == [1]
    assert found(listing, "is=error") == [2, 3, 4]
    assert all(listing.look(entry).explained.failure for entry in (1, 2, 3))


def test_a_package_without_headers_reads_no_frames(tmp_path: Path) -> None:
    listing = read_listing(write_lines(tmp_path / "a.jsonl", line("req", METADATA)), package=tagwire_records.registry)
    assert found(listing, "is=error") == [1]
    assert "tagwire_records defines no RequestHeader" in listing.look(0).explained.failure


def test_captures_of_real_clients_agree_with_their_lines() -> None:
    listing = read_listing(CAPTURES)
    lines = list(read_capture(CAPTURES))
    assert listing.count == len(lines) == 6777
    for entry in (0, 6776, 3000, 2999, 12):  # seek forwards and backwards
        assert listing.look(entry).data == lines[entry].data
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
    path = write_lines(tmp_path / "a.jsonl", line("req", secret))
    assert found(read_listing(path), "hunter2") == []
    with showing_sensitive():
        assert found(read_listing(path), "hunter2") == [1]


def test_compressed_file_is_read_at_any_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwire_workbench.browsing.growing_file._SPACING", 1 << 19)
    monkeypatch.setattr("tagwire_workbench.browsing.growing_file._STATES", 4)
    monkeypatch.setattr("tagwire_workbench.browsing.growing_file._BEHIND", 1 << 10)
    data = b"".join(struct.pack(">I", number * 2654435761 % (1 << 32)) for number in range(1 << 20))
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(data[:1000000], 1) + bytes(700) + gzip.compress(data[1000000:], 1) + bytes(9))
    file = open_growing(path)
    assert b"".join(iter(file.more, b"")) == data
    assert (file.error, file.progress) == ("", 1.0)
    for start in (0, 4000000, 999990, 1000010, 3999990, 17):
        assert file.at(start, 40) == data[start : start + 40]
    assert file.at(len(data) - 3, 40) == data[-3:]
    file.close()


def test_a_capture_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line("req", METADATA)[:30])
    listing = read_listing(path, follows=True)
    assert (listing.count, listing.is_done) == (0, False)
    path.write_text(line("req", METADATA) + "\n" + line("resp", REPLY))
    listing.read_all()
    assert listing.count == 1
    with path.open("a") as file:
        file.write("\n")
    listing.read_all()
    assert (listing.count, listing.partner(0)) == (2, 1)
    path.write_text("")
    listing.read_all()
    assert listing.is_done
    assert "the file was truncated while it was read" in listing.error


def test_compressed_capture_is_followed_member_by_member(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(f"{line('req', METADATA)}\n".encode()))
    listing = read_listing(path, follows=True)
    assert listing.count == 1
    more = gzip.compress(f"{line('resp', REPLY)}\n".encode())
    for part in (more[:20], more[20:]):
        with path.open("ab") as file:
            file.write(part)
        listing.read_all()
    assert listing.count == 2
    assert listing.look(1).data == REPLY


@pytest.mark.parametrize(
    ("data", "count", "error"),
    [
        (b"", 0, ""),
        (b"\n\n", 0, ""),
        (gzip.compress(f"{line('req', METADATA)}\n".encode(), mtime=0)[:-9], 1, "the file ends within its gzip data"),
        (gzip.compress(f"{line('req', METADATA)}\n".encode(), mtime=0)[:-8] + bytes(8), 1, "incorrect data check"),
        (gzip.compress(b"{}\n", mtime=0) + b"odd", 1, "can't be decompressed after byte"),
        (line("req", METADATA).encode(), 1, ""),
        (b'{"dir": "req", "hex": "0"}\n{"dir": "up", "hex": ""}\n{}\n', 3, ""),
    ],
    ids=["empty", "blank", "cut", "damaged", "garbage", "no-line-end", "no-frames"],
)
def test_odd_files(tmp_path: Path, data: bytes, count: int, error: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    listing = read_listing(path)
    assert (listing.count, listing.is_done) == (count, True)
    assert error in listing.error and bool(error) == bool(listing.error)
    for entry in range(listing.count):
        listing.look(entry)


def test_other_files_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\xff\xfe other")
    with pytest.raises(TagwireError, match=r"begins with ff fe 20 .* --frames request or response"):
        listing_of(tmp_path / "a.bin")
    (tmp_path / "folder").mkdir()
    with pytest.raises(TagwireError, match="no partition found"):
        listing_of(tmp_path / "folder")


def test_a_stream_of_frames(tmp_path: Path) -> None:
    path = tmp_path / "sent.bin"
    path.write_bytes(b"".join(struct.pack(">i", len(each)) + each for each in (METADATA, HEARTBEAT)) + b"\0\0")
    listing = read_listing(path, stream="request")
    assert [listing.cells(entry)[2] for entry in range(listing.count)] == ["Metadata", "Heartbeat"]
    assert listing.look(1).data == HEARTBEAT
    assert "frame 3: frame: size at byte" in listing.error


def test_a_network_capture(tmp_path: Path) -> None:
    pytest.importorskip("dpkt")
    sized = [struct.pack(">i", len(each)) + each for each in (METADATA, REPLY)]
    segments = [
        Segment(999, b"", flags="S"),
        Segment(4999, b"", is_request=False, flags="SA"),
        Segment(1000, sized[0]),
        Segment(5000, sized[1], is_request=False),
        Segment(5000 + len(sized[1]) + 50, b"x" * 20, is_request=False),
    ]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(segments))
    listing = read_listing(path)
    assert [listing.cells(entry)[1] for entry in range(listing.count)] == ["req", "resp", "!"]
    assert listing.partner(0) == 1
    assert listing.look(1).data == REPLY
    assert listing.error_of(2).startswith("gap in the responses: 50 bytes missing")
    with pytest.raises(TagwireError, match="--follow can't read network captures"):
        listing_of(path, follows=True)
    listing.close()


def test_batches_of_a_log() -> None:
    listing = read_listing(SAMPLE_LOG)
    assert listing.count == 12
    assert list(listing.cells(2)) == ["3", "orders-0", "10-14", "5", "223", "v2 gzip", "2023-11-14 22:27"]
    assert found(listing, "offset=12") == [3, 9]
    assert found(listing, "offset=12 partition=orders-1") == [9]
    assert found(listing, "offset=24-") == [5, 6, 11, 12]
    assert found(listing, "-codec=none partition=orders-0") == [3, 6]
    assert found(listing, "is=control") == []
    assert listing.look(2).explained.failure == ""


def test_damaged_batch_and_trailing_bytes(tmp_path: Path) -> None:
    data = bytearray(FIRST_SEGMENT.read_bytes())
    data[400] ^= 1
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(bytes(data) + b"\x01" * 40)
    listing = read_listing(path)
    assert listing.count == 7
    assert found(listing, "is=error") == [2, 7]
    assert list(listing.cells(6))[:3] == ["7", path.name, "not a batch"]
    assert listing.look(1).explained.failure != "" and listing.look(6).explained.failure != ""


def test_a_log_is_followed(tmp_path: Path) -> None:
    data = FIRST_SEGMENT.read_bytes()
    folder = tmp_path / "orders-0"
    folder.mkdir()
    path = folder / "00000000000000000000.log"
    path.write_bytes(data[:500])
    listing = read_listing(folder, follows=True)
    assert (listing.count, listing.is_done) == (1, False)
    path.write_bytes(data)
    listing.read_all()
    assert listing.count == 6
    (folder / "00000000000000000030.log").write_bytes(data[:365])
    listing.read_all()
    assert listing.count == 7
