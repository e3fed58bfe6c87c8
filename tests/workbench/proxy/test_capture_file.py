import gzip
import json
import threading
from pathlib import Path
from queue import SimpleQueue

import pytest

import tagwire_messages as kafka
from tagwire.addresses import Address
from tagwire.frames.redaction import Redaction
from tagwire_workbench.proxy import CaptureFile, ProxyError, RecordedFrame, capture_file

BEAT = kafka.registry.encode_request(kafka.HeartbeatRequest(group_id="g", member_id="m"), 4, correlation_id=7)


def frame(number: int, data: bytes = BEAT, *, is_request: bool = True) -> RecordedFrame:
    return RecordedFrame(1, is_request, 12, 4, number, "c", Address("b", 1), 1.5, data)


@pytest.mark.parametrize("name", ["frames.jsonl", "frames.jsonl.gz"])
def test_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_file, "_MOST_WAITING", 2000)
    path = tmp_path / name
    with CaptureFile(path, run="r", label="l") as file:
        for number in range(200):
            file.add(frame(number))
    data = path.read_bytes()
    rows = [json.loads(line) for line in (gzip.decompress(data) if name.endswith("gz") else data).splitlines()]
    assert [row["correlation_id"] for row in rows] == [*range(200)]
    expected = {"run": "r", "conn": 1, "client_label": "l", "client_id": "c", "dir": "req", "api_key": 12}
    expected |= {"api_version": 4, "correlation_id": 0, "server": "b:1", "timestamp": 1500, "hex": BEAT.hex()}
    assert rows[0] == expected
    assert file.counts == {True: 200, False: 0} and path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ProxyError, match="already exists"):
        CaptureFile(path)
    assert "tagwire capture file" not in {thread.name for thread in threading.enumerate()}


def test_threads_get_the_error_of_the_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_file, "_MOST_WAITING", 500)
    file = CaptureFile(tmp_path / "frames.jsonl")
    file._process.kill()
    expected = rf"{file.path}: the writing process ended with exit status -9"
    with pytest.raises(OSError, match=expected):
        while True:
            file.add(frame(1))
    with pytest.raises(OSError, match=expected):
        file.close()


def test_many_small_frames_do_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_file, "_MOST_WAITING", 100_000)
    has_room = threading.Event()
    monkeypatch.setattr(CaptureFile, "_put", lambda file, data: has_room.wait(60))
    with CaptureFile(tmp_path / "frames.jsonl") as file:
        adding = threading.Thread(target=lambda: [*map(file.add, [frame(0, b"")] * 1000)])
        adding.start()
        adding.join(0.3)
        assert adding.is_alive()
        has_room.set()
        adding.join()


def test_end_of_the_writer_is_noticed_without_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_file, "_CHECKING", 0.01)
    errors = SimpleQueue[OSError]()
    file = CaptureFile(tmp_path / "frames.jsonl", on_error=errors.put)
    file._process.kill()
    assert "ended with exit status -9" in str(errors.get(timeout=30))
    with pytest.raises(OSError, match="ended with exit status -9"):
        file.close()


@pytest.mark.parametrize("sizes", [[], [0, 1], [5_000_000, 10, 3_000_000], [300_000] * 20])
def test_several_gzip_members_read_as_one_file(sizes: list[int], tmp_path: Path) -> None:
    with CaptureFile(tmp_path / "frames.jsonl.gz") as file:
        for number, size in enumerate(sizes):
            file.add(frame(number, bytes([number]) * size))
    data = file.path.read_bytes()
    rows = [json.loads(line) for line in gzip.decompress(data).splitlines()]
    assert data[:2] == b"\x1f\x8b"  # other programs reject an empty file
    assert [bytes.fromhex(row["hex"]) for row in rows] == [bytes([n]) * size for n, size in enumerate(sizes)]


def test_without_secrets(tmp_path: Path) -> None:
    problems: list[str] = []
    secret = kafka.registry.encode_request(kafka.SaslAuthenticateRequest(auth_bytes=b"secret"), 2, correlation_id=1)
    empty = kafka.registry.encode_request(kafka.SaslAuthenticateRequest(), 2, correlation_id=1)
    path = tmp_path / "frames.jsonl"
    with CaptureFile(path, redaction=Redaction(kafka.registry), on_problem=problems.append) as file:
        file.add(frame(1, secret))
        file.add(frame(2, secret[:-4]))
    (row,) = path.read_text().splitlines()
    assert json.loads(row)["hex"] == empty.hex()
    assert len(problems) == 1 and "a request is not recorded, because it can't be redacted: " in problems[0]
