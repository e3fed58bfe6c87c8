import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from command import rejected
from command import tagwire_result as run
from network_packets import sized

import tagwire_messages as messages
from tagwire import FrameSplitter
from tagwire.records import BatchBuilder
from tagwire_messages import registry

CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"
SECRET = b"s3cret-value"
LOGIN = registry.encode_request(messages.SaslAuthenticateRequest(auth_bytes=SECRET), 2, correlation_id=1)
BEAT = registry.encode_request(messages.HeartbeatRequest(), 4, correlation_id=2)


def test_log_dump_hides_messages_and_the_bytes_that_have_them(tmp_path: Path) -> None:
    record = messages.UserScramCredentialRecord(name="alice", salt=b"salty", stored_key=SECRET, server_key=SECRET)
    builder = BatchBuilder("v2")
    builder.append(None, registry.encode_record(record, 0))
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(builder.build().encode())
    secrets = base64.b64encode(SECRET).decode(), SECRET.decode(), SECRET.hex()
    for words in (("dump", "--messages"), ("dump", "--messages", "--json"), ("state", "--json")):
        hidden = run("log", *words, str(folder), code=0)
        assert "alice" in hidden.stdout
        assert "<hidden>" in hidden.stdout
        assert not any(text in hidden.stdout for text in secrets)
        assert any(text in run("log", *words, "--show-sensitive", str(folder)).stdout for text in secrets)


def test_streams_of_frames() -> None:
    done = run("redact", "--frames", "request", "--same-length", stdin=sized(LOGIN, BEAT))
    assert (done.exit_code, done.stdout_bytes) == (0, sized(LOGIN, BEAT).replace(SECRET, bytes(len(SECRET))))
    assert SECRET not in run("redact", "--frames", "request", stdin=sized(LOGIN)).stdout_bytes
    body = messages.SaslAuthenticateRequest(auth_bytes=SECRET).encode(2)
    done = run("redact", "--frames", "message", "SaslAuthenticateRequest", "2", stdin=sized(body))
    assert done.stdout_bytes == sized(messages.SaslAuthenticateRequest().encode(2))


def test_responses(tmp_path: Path) -> None:
    answer = registry.encode_response(messages.SaslAuthenticateResponse(auth_bytes=SECRET), 2, correlation_id=1)
    want = sized(registry.encode_response(messages.SaslAuthenticateResponse(), 2, correlation_id=1))
    assert run("redact", "--frames", "response", "SaslAuthenticate", "2", stdin=sized(answer)).stdout_bytes == want
    (tmp_path / "sent.bin").write_bytes(sized(LOGIN))
    words = ("redact", "--frames", "response", "--requests", str(tmp_path / "sent.bin"))
    assert run(*words, stdin=sized(answer)).stdout_bytes == want


@pytest.mark.parametrize("as_capture", [False, True])
@pytest.mark.parametrize("is_right", [True, False])
def test_reused_correlation_ids(tmp_path: Path, *, is_right: bool, as_capture: bool) -> None:
    """Check requests with equal correlation IDs, whose responses can be matched only by their order.

    If a response has the expected type, only its secret fields are redacted. Otherwise, the whole response is hidden.
    """
    requests = [LOGIN, registry.encode_request(messages.DescribeGroupsRequest(), 0, correlation_id=1)]
    token = messages.SaslAuthenticateResponse(auth_bytes=SECRET)
    answers = [
        registry.encode_response(message, version, correlation_id=1)
        for message, version in ((token, 2), (messages.DescribeGroupsResponse(), 0))
    ]
    answers = answers if is_right else answers[::-1]
    if as_capture:
        rows = [{"dir": "req", "hex": each.hex()} for each in requests] + [
            {"dir": "resp", "hex": each.hex()} for each in answers
        ]
        done = run("redact", stdin="\n".join(map(json.dumps, rows)).encode())
        assert SECRET.hex() not in done.stdout
        written = [bytes.fromhex(json.loads(line)["hex"]) for line in done.stdout.splitlines()][2:]
    else:
        (tmp_path / "sent.bin").write_bytes(sized(*requests))
        done = run("redact", "--frames", "response", "--requests", str(tmp_path / "sent.bin"), stdin=sized(*answers))
        splitter = FrameSplitter()
        splitter.feed(done.stdout_bytes)
        written = [*splitter]
    assert SECRET not in b"".join(written)
    assert (done.exit_code, len(written)) == ((0, 2) if is_right else (1, 0)), done.stderr


def test_a_response_that_may_have_other_secrets() -> None:
    other = (999).to_bytes(2, "big") + bytes(2) + LOGIN[4:]
    answer = registry.encode_response(messages.SaslAuthenticateResponse(auth_bytes=SECRET), 2, correlation_id=1)
    frames = ("req", LOGIN), ("req", other), ("resp", answer)
    rows = [{"dir": direction, "hex": frame.hex()} for direction, frame in frames]
    done = run("redact", stdin="\n".join(map(json.dumps, rows)).encode(), code=1)
    assert "correlation ID is ambiguous: a request for API 36 v2 and one for API 999 v0" in done.stderr
    assert answer.hex() not in done.stdout


def test_unreadable_frames_are_omitted_and_reported() -> None:
    done = run("redact", "--frames", "request", stdin=sized(LOGIN[:-1], BEAT))
    assert (done.exit_code, done.stdout_bytes) == (1, sized(BEAT))
    assert "frame 1 at byte 0: SaslAuthenticateRequest v2" in done.stderr
    done = run("redact", "--frames", "request", "--keep-unreadable", stdin=sized(LOGIN[:-1], BEAT))
    assert (done.exit_code, done.stdout_bytes) == (1, sized(LOGIN[:-1], BEAT))


def test_real_captures() -> None:
    with gzip.open(CAPTURES, "rt", encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    done = run("redact", str(CAPTURES), "--keep-unreadable")
    redacted = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(redacted) == len(rows)
    changed = {row["api_key"] for row, new in zip(rows, redacted, strict=True) if row != new}
    # only messages with secrets may change: configurations, SASL, delegation tokens, SCRAM credentials, envelopes
    assert changed <= {33, 36, 38, 39, 40, 41, 44, 51, 58}
    assert all(row | {"hex": ""} == new | {"hex": ""} for row, new in zip(rows, redacted, strict=True))


def test_complete_lines_of_a_truncated_capture_are_read() -> None:
    row = json.dumps({"dir": "req", "hex": BEAT.hex()}).encode() + b"\n"
    done = run("redact", stdin=gzip.compress(row) * 2 + gzip.compress(row * 3)[:-9], code=1)
    assert len(done.stdout.splitlines()) in range(2, 6)
    assert "can't be read after line" in done.stderr


@pytest.mark.parametrize("wrapped", [b"\0\0\0\x10%b", b'{"dir": "%b"}', b'{"dir": "req", "hex": "%b"}'])
def test_errors_quote_nothing_of_the_input(wrapped: bytes) -> None:
    done = run("redact", stdin=wrapped % SECRET, code=1)
    assert "line 1 is not a captured frame" in done.stderr
    assert SECRET.decode() not in done.stderr


UNKNOWN_API = "the request of this response was not captured, so its API is unknown"
REJECTED: tuple[tuple[tuple[str, ...], bytes, int, str], ...] = (
    (("redact",), b"{}", 1, "line 1 is not a captured frame: dir: expected 'req', 'resp' or 'close'"),
    (("redact",), b"[" * 50_000, 1, "line 1 is not a captured frame: it is not valid JSON"),
    (("redact",), b'{"dir": "close", "run": NaN}', 1, "line 1 is not a captured frame: it is not valid JSON"),
    (("redact",), b'{"dir": "close", "run": 1e999}', 1, "line 1 is not a captured frame: it is not valid JSON"),
    (("redact",), b'{"dir": "resp", "hex": "00"}', 1, f"line 1: {UNKNOWN_API}; its line needs"),
    (("redact",), b'{"dir": "req", "hex": "0"}', 1, "hex: expected a string of hex digits"),
    (("redact",), b'{"dir": "resp", "hex": "00", "api_key": {}}', 1, "api_key: expected an integer, got"),
    (("redact", "--hex"), b"", 2, "--hex needs --frames"),
    (("redact", "--frames", "response"), b"", 2, "give API VERSION"),
    (("redact", "a", "b"), b"", 2, "give at most one FILE"),
)


@pytest.mark.parametrize(("words", "stdin", "status", "text"), REJECTED)
def test_rejected_input(words: tuple[str, ...], stdin: bytes, status: int, text: str) -> None:
    rejected(run(*words, stdin=stdin), text, code=status)


UNKNOWN_LOGIN = LOGIN[:2] + b"\0\x09" + LOGIN[4:]
TOKEN = registry.encode_response(messages.SaslAuthenticateResponse(auth_bytes=SECRET), 2).hex()
UNKNOWN_TOKEN = {"dir": "resp", "api_key": 36, "api_version": 9, "hex": TOKEN}


@pytest.mark.parametrize(("kind", "data", "form"), [
    ("--request", LOGIN, ()), ("--request", LOGIN, ("--json",)), ("--request", LOGIN, ("--html",)),
    ("--request", UNKNOWN_LOGIN, ()), ("--request", UNKNOWN_LOGIN, ("--html",)),
    ("--capture", json.dumps(UNKNOWN_TOKEN).encode(), ()),
])  # fmt: skip
def test_explain_hides_secrets(kind: str, data: bytes, form: tuple[str, ...]) -> None:
    hidden = run("explain", kind, *form, stdin=data).stdout
    assert "hidden" in hidden or "**" in hidden
    # The forms in which the output could show the secret: its first bytes in hex, all of its bytes in hex, and base64.
    begun = SECRET[:3].hex(" "), SECRET.hex(), "czNjcmV0LXZhbHVl"
    assert not any(text in hidden for text in begun)
    shown = run("explain", kind, "--show-sensitive", *form, stdin=data).stdout
    assert any(text in shown for text in begun)
