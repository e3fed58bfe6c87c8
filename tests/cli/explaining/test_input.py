import gzip
import json
import struct
from functools import partial
from pathlib import Path

import pytest
from command import tagwire_result
from network_packets import Segment, pcap

import tagwire_messages as messages
from tagwire.records import BatchBuilder

ASKED = messages.ApiVersionsRequest(client_software_name="tagwire", client_software_version="1.0")
REQUEST = messages.registry.encode_request(ASKED, 3, correlation_id=7, client_id="demo-app")
SIZED = len(REQUEST).to_bytes(4, "big") + REQUEST
BATCH = bytes(BatchBuilder().append(b"k", b"v").build().encode())
PCAP = pcap([Segment(1, SIZED)])
TCP = PCAP[24 + 16 + 14 + 20 :]
IPV6 = struct.pack(">IHBB16s16s", 6 << 28, len(TCP), 6, 64, *(bytes(15) + bytes([end]) for end in (1, 2))) + TCP
LINE = {"dir": "req", "hex": REQUEST.hex(), "api_key": 18, "api_version": 3}
LINES = json.dumps(LINE).encode() + b"\n"
HEX = REQUEST.hex().encode()
SIGNED = str([each - 256 if each > 127 else each for each in REQUEST]).encode()
"""The request as signed numbers, as printed by Java's Arrays.toString."""


run = partial(tagwire_result, "explain")


@pytest.mark.parametrize(
    ("name", "data", "first"),
    [
        ("a.txt", HEX, "hex, 32 bytes"),
        ("a.bin", REQUEST, "bytes, 32 bytes"),
        ("frames.bin", SIZED * 2, "bytes, 72 bytes"),
        ("java.txt", SIGNED, "a list of numbers, 32 bytes"),
        ("python.txt", repr(REQUEST).encode(), "escaped bytes, 32 bytes"),
        ("a.pcap", PCAP, "network capture"),
        ("a.pcap.gz", gzip.compress(PCAP, mtime=0), "network capture"),
        ("a.jsonl", LINES, "captured frames"),
        ("a.jsonl.gz", gzip.compress(LINES, mtime=0), "captured frames"),
        ("packet.bin", PCAP[24 + 16 :], f"bytes, {14 + 40 + 36} bytes: a packet from 10.0.0.1:40000 to 10.0.0.2:9092"),
        ("ipv6.bin", IPV6, "bytes, 96 bytes: a packet from "),
        ("ip.bin", PCAP[24 + 16 + 14 :], "bytes, 76 bytes: a packet from 10.0.0.1:40000 to 10.0.0.2:9092"),
    ],
)
def test_any_file(tmp_path: Path, name: str, data: bytes, first: str) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    result = run(file)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"# {file}: {first}") and "ApiVersionsRequest v3" in result.stdout
    piped = run(stdin=data, code=0)
    assert piped.stdout == run("-", stdin=data).stdout
    assert piped.stdout == result.stdout.replace(f"# {file}: ", "# ", 1)


@pytest.mark.parametrize("words", [[HEX.decode()], ["0x" + HEX.decode()], REQUEST.hex(" ").split()])
def test_hex_as_arguments(words: list[str]) -> None:
    assert run(*words, code=0).stdout.startswith("# hex, 32 bytes\n# request ApiVersionsRequest v3: ")


def test_logs_are_recognized(tmp_path: Path) -> None:
    for partition, base in ((0, 0), (1, 5)):
        folder = tmp_path / f"orders-{partition}"
        folder.mkdir()
        (folder / f"{base:020}.log").write_bytes(BATCH * 2)
        (folder / f"{base:020}.index").write_bytes(b"")
    segment = tmp_path / "orders-0" / f"{0:020}.log"
    assert run(segment).stdout.startswith(f"# {segment}: log segment\n")
    assert run(tmp_path, code=0).stdout.count(": log segment\n") == 2
    assert run(stdin=BATCH).stdout.startswith(f"# bytes, {len(BATCH)} bytes\n# record batches (v2): ")
    (tmp_path / "orders-0" / f"{0:020}.log").write_bytes(BATCH + b"cut")
    damaged = run(tmp_path, code=1)
    assert damaged.stdout.count(": log segment\n") == 2, "the other one is shown as well"
    (tmp_path / "none").mkdir()
    assert "contains no log segments" in run(tmp_path / "none").stderr


def test_bytes_that_match_no_message_completely() -> None:
    result = run(stdin=b"\x00\x03\x00\x0c" + b"\xff" * 40, code=1)
    assert "bits" not in result.stdout
    assert "stops at" in result.stdout


def test_suggested_commands_read_the_same_input() -> None:
    shown = run(messages.HeartbeatResponse().encode(4).hex(), "--package", "tagwire_messages")
    parts = (line.partition("tagwire explain ") for line in shown.stdout.splitlines())
    commands = [command for _, marker, command in parts if marker]
    assert len(commands) > 2 and all("--package tagwire_messages" in each for each in commands)
    for each in commands:
        assert run(*each.split()).exit_code == 0, each


def test_a_response_without_its_request_has_commands_for_its_own_bytes(tmp_path: Path) -> None:
    answer = messages.registry.encode_response(messages.HeartbeatResponse(), 4, correlation_id=7)
    file = tmp_path / "a.pcap"
    data = pcap([Segment(1, len(answer).to_bytes(4, "big") + answer)])
    file.write_bytes(data.replace(b"\x9c\x40\x23\x84", b"\x23\x84\x9c\x40"))
    shown = run(file, code=1)
    assert "the request of this response was not captured" in shown.stderr
    commands = [line.partition("tagwire explain ")[2] for line in shown.stdout.splitlines() if "--response" in line]
    assert commands and all(run(*each.split()).exit_code == 0 for each in commands)


@pytest.mark.parametrize(
    "words", ["HeartbeatResponse v0 0012", "HeartbeatResponse 0 --hex 00:12", "HeartbeatResponse 0 00 12"]
)
def test_hex_after_the_version(words: str) -> None:
    assert "18 RECORD_LIST_TOO_LARGE" in run(*words.split(), code=0).stdout
