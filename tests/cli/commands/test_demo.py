import gzip
import hashlib
import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command import rejected, tagwire_result

import tagwire_cli
import tagwire_messages as messages
from tagwire_messages.metadata_request import MetadataRequest, MetadataRequestTopic

COMMITTED = Path(__file__).parents[2] / "data/captures/captures.jsonl.gz"
LONG_ID = "a client id that makes the frame long enough"
ASKED = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
REQUEST = messages.registry.encode_request(ASKED, 12, client_id=LONG_ID)

run = partial(tagwire_result, "demo")


def row(data: bytes = REQUEST, **changes: Any) -> dict[str, Any]:
    facts = {"client_label": "someone", "dir": "req", "api_key": 3, "api_version": 12, "hex": data.hex()}
    return facts | changes


def write(folder: Path, rows: Iterable[dict[str, Any]], faults: dict[str, str] | None = None) -> Path:
    path = folder / "captures.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    if faults is not None:
        (folder / "sender_faults.json").write_text(json.dumps(faults))
    return path


def digest(data: bytes) -> str:
    return hashlib.sha256(b"req" + data.hex().encode()).hexdigest()


def test_the_committed_captures() -> None:
    result = run(COMMITTED)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["client", "frames", "bytes", "APIs", "most", "frequent"]
    assert "Decoded 6776 frames strictly" in result.stdout
    assert "messages per second" in result.stdout
    assert "Rejected 1 frame as expected, because the sender's bytes are invalid." in result.stdout
    assert "ApiVersionsRequest has no version 99; supported versions are 0-5" in result.stdout
    assert "offset  bytes" in result.stdout and "client_id" in result.stdout


@pytest.mark.parametrize(("clients", "last"), [(9, "client9"), (10, "2 others")])
def test_clients_with_few_frames_share_a_row(tmp_path: Path, clients: int, last: str) -> None:
    path = write(tmp_path, (row(client_label=f"client{number}") for number in range(1, clients + 1)))
    lines = run(path).stdout.partition("\n\n")[0].splitlines()
    assert len(lines) == 10 and lines[-1].startswith(last)


def test_shipped_sample_is_part_of_the_captures() -> None:
    assert "Decoded 450 frames strictly and encoded them to the same bytes" in tagwire_result("demo", code=0).stdout
    sample, whole = (
        set(gzip.decompress(path.read_bytes()).decode().splitlines())
        for path in (Path(tagwire_cli.__file__).with_name("data") / "demo.jsonl.gz", COMMITTED)
    )
    assert {json.dumps(json.loads(line)) for line in sample} <= {json.dumps(json.loads(line)) for line in whole}


def test_a_small_file(tmp_path: Path) -> None:
    result = run(write(tmp_path, [row()]))
    assert result.exit_code == 0
    assert "someone" in result.stdout and "Metadata 1" in result.stdout
    assert "Decoded 1 frame strictly" in result.stdout and "1 request, 0 responses, " in result.stdout
    assert "# MetadataRequest v12" in result.stdout


def test_frames_of_unknown_versions_are_counted(tmp_path: Path) -> None:
    result = run(write(tmp_path, [row(), row(api_version=77), row(api_key=4711)]))
    assert result.exit_code == 0 and "Skipped 2 frames of unknown APIs or versions" in result.stdout


def test_rejected_frame_fails_the_demo(tmp_path: Path) -> None:
    result = run(write(tmp_path, [row(), row(REQUEST + b"\0")]))
    assert result.exit_code == 1
    assert (
        "line 2: someone, MetadataRequest v12 was rejected: " in result.stderr
        and "1 byte after the message" in result.stderr
    )
    assert "1 frame failed" in result.stderr


def test_frame_that_is_encoded_differently_fails_the_demo(tmp_path: Path) -> None:
    # In this response, a tagged field is written explicitly with its default value. Encoders omit such fields.
    default_written = bytes.fromhex("00000007 0000 01 00000000 01 03 01 00".replace(" ", ""))
    result = run(write(tmp_path, [row(), row(default_written, dir="resp", api_key=18, api_version=3)]))
    assert result.exit_code == 1, result.output
    assert "encoded to different bytes" in result.stderr


def test_error_of_a_sender_must_be_rejected(tmp_path: Path) -> None:
    wrong = REQUEST + b"\0"
    result = run(write(tmp_path, [row(), row(wrong)], {digest(wrong): "writes a byte too much"}))
    assert result.exit_code == 0 and "writes a byte too much" in result.stdout
    result = run(write(tmp_path, [row()], {digest(REQUEST): "is fine really"}))
    assert result.exit_code == 1 and "was accepted" in result.stderr


@pytest.mark.parametrize(("text", "words"), [("{}\n", "line 1 is not a captured frame"), ("", "no frames to decode")])
def test_file_that_is_not_a_capture(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "captures.jsonl"
    path.write_text(text)
    rejected(run(path), words, code=1)


def test_invalid_gzip_and_invalid_errors(tmp_path: Path) -> None:
    path = tmp_path / "captures.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}" * 100)[:20])
    assert run(path).exit_code == 1
    path = write(tmp_path, [row()])
    (tmp_path / "sender_faults.json").write_text("[")
    result = run(path)
    assert result.exit_code == 1 and "sender_faults.json can't be read" in result.stderr
