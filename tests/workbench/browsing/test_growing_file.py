import gzip
import struct
from pathlib import Path

import pytest
from browsed import METADATA, REPLY, line, read_listing

from tagwire_workbench.browsing.growing_file import open_growing


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
    assert listing.explain(1).data == REPLY


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
        listing.explain(entry)
