"""Decode captured frames of real clients and brokers strictly, and encode them to equal bytes.

Incorrectly encoded frames must be rejected. tests/data/captures/README.md lists the sources.
"""

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tagwire
import tagwire_messages as messages
from tagwire.explain.text import annotate, parse_annotated
from tagwire.sensitive import showing_sensitive

CAPTURES = Path(__file__).parent / "data" / "captures"
FAULTS: dict[str, str] = json.loads((CAPTURES / "sender_faults.json").read_text())


def read() -> Iterator[dict[str, Any]]:
    with gzip.open(CAPTURES / "captures.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def digest_of(row: dict[str, Any]) -> str:
    return hashlib.sha256((row["dir"] + row["hex"]).encode()).hexdigest()


def is_fault(row: dict[str, Any]) -> bool:
    return digest_of(row) in FAULTS


ALL = list(read())
ROWS = [row for row in ALL if not is_fault(row)]
CLIENTS = sorted({row["client_label"] for row in ROWS})


def decoded(row: dict[str, Any]) -> tagwire.Frame:
    data = bytes.fromhex(row["hex"])
    if row["dir"] == "req":
        return messages.registry.decode_request(data)
    return messages.registry.decode_response(data, row["api_key"], row["api_version"])


def encoded(row: dict[str, Any], frame: tagwire.Frame) -> bytes:
    encode = messages.registry.encode_request if row["dir"] == "req" else messages.registry.encode_response
    return encode(frame.message, frame.version, header=frame.header)


def traced(row: dict[str, Any]) -> tagwire.Trace:
    data = bytes.fromhex(row["hex"])
    if row["dir"] == "req":
        return tagwire.trace_request(messages.registry, data)
    return tagwire.trace_response(messages.registry, data, row["api_key"], row["api_version"])


def test_sample_matches_its_readme() -> None:
    pairs = {(row["api_key"], row["api_version"]) for row in ROWS if row["api_version"] != 99}
    assert (len(ALL), len({api for api, _ in pairs}), len(pairs)) == (6777, 93, 315)
    assert len(ALL) - len(ROWS) == len(FAULTS)


@pytest.mark.parametrize("client", CLIENTS)
def test_frames_are_read_strictly_and_written_back(client: str) -> None:
    for row in (row for row in ROWS if row["client_label"] == client):
        frame = decoded(row)
        where = f"{row['run']} {row['dir']} {row['api_key']} v{row['api_version']} {row['hex'][:80]}"
        assert encoded(row, frame).hex() == row["hex"], where
        assert frame.header.correlation_id == row["correlation_id"], where
        assert row["api_key"] == frame.message.API_KEY, where
        if row["dir"] == "req":
            assert (frame.version, frame.header.request_api_version) == (row["api_version"], row["api_version"]), where


@pytest.mark.parametrize("direction", ["req", "resp"])
def test_traces_agree_with_the_serializers(direction: str) -> None:
    first_of_each = {(row["api_key"], row["api_version"]): row for row in reversed(ROWS) if row["dir"] == direction}
    for row in first_of_each.values():
        trace = traced(row)
        assert (trace.error, trace.canonical) == (None, True), row
        with showing_sensitive():
            assert parse_annotated(annotate(trace)).hex() == row["hex"], row


def test_responses_to_unsupported_versions_are_in_version_0() -> None:
    answers = [row for row in ROWS if row["dir"] == "resp" and row["api_key"] == 18]
    frames = [(row, decoded(row)) for row in answers]
    fallbacks = [(row, frame) for row, frame in frames if frame.version != row["api_version"]]
    assert fallbacks, "the sample has some"
    for _, frame in fallbacks:
        assert (frame.version, frame.message.error_code) == (0, 35)


REBUILT = "rebuilt"
LIBRDKAFKA_ALL_TOPICS = bytes.fromhex(
    "0003 000b 00000002 0007 72646b61666b61 00"  # Metadata, version 11, correlation ID 2, 'rdkafka', no tagged fields
    "00000000"  # the count, wrongly written as an int32
    "00 00 00".replace(" ", "")  # two booleans, both false, and no tagged fields
)


class Fault(NamedTuple):
    digest: str
    """The frame's key in sender_faults.json, or REBUILT."""
    data: bytes
    error: type[tagwire.TagwireError]
    text: str


def recorded(text: str) -> bytes:
    [row] = [row for row in ALL if is_fault(row) and text in FAULTS[digest_of(row)]]
    return bytes.fromhex(row["hex"])


REJECTED = [
    Fault(
        "bee7fc3f54a136abac7dd37c3c517101699c02442a077d01ca8a21bba63eb574",
        recorded("a version of ApiVersions that does not exist"),
        tagwire.UnsupportedVersionError,
        "ApiVersionsRequest has no version 99; supported versions are 0-5",
    ),
    Fault(
        REBUILT,
        LIBRDKAFKA_ALL_TOPICS,
        tagwire.DecodeError,
        "MetadataRequest v11: byte 22: found 3 bytes after the message, expected the end of the data",
    ),
]


@pytest.mark.parametrize("fault", REJECTED, ids=lambda fault: fault.text.split(":")[0])
def test_errors_of_senders_are_rejected_with_clear_messages(fault: Fault) -> None:
    with pytest.raises(fault.error) as rejection:
        messages.registry.decode_request(fault.data)
    assert str(rejection.value) == fault.text


def test_every_rejected_frame_is_explained_here() -> None:
    assert {fault.digest for fault in REJECTED} - {REBUILT} == set(FAULTS)


def test_header_of_a_request_with_an_unknown_version_is_readable() -> None:
    header: Any
    header, _ = messages.registry.decode_header(REJECTED[0].data)
    assert (header.request_api_version, header.correlation_id, header.client_id) == (99, 20, "raw~q")


def test_lenient_decoding_accepts_what_brokers_accept() -> None:
    frame = messages.registry.decode_request(LIBRDKAFKA_ALL_TOPICS, strict=False)
    assert frame.message.topics is None, "all topics: what librdkafka meant"
