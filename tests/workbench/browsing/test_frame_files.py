import gzip
import struct
from pathlib import Path

import pytest
from browsed import HEARTBEAT, METADATA, REPLY, line, listing_of, read_listing, write_lines
from network_packets import Segment, pcap

from tagwire.errors import TagwireError
from tagwire_workbench.browsing import frame_files


def test_a_stream_of_frames(tmp_path: Path) -> None:
    path = tmp_path / "sent.bin"
    path.write_bytes(b"".join(struct.pack(">i", len(each)) + each for each in (METADATA, HEARTBEAT)) + b"\0\0")
    listing = read_listing(path, stream="request")
    assert [listing.cells(entry)[2] for entry in range(listing.count)] == ["Metadata", "Heartbeat"]
    assert listing.explain(1).data == HEARTBEAT
    assert "frame 3: frame: size at byte" in listing.error


def test_a_line_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_files, "LONGEST_LINE", 99)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"dir": "req", "hex": "' + b"0" * 2**20))
    assert "line 1 is not a captured frame: it has " in read_listing(tmp_path / "a.jsonl.gz").error


def test_a_closed_connection(tmp_path: Path) -> None:
    lines = [line("req", METADATA), line("close", b""), line("req", METADATA), line("resp", REPLY)]
    listing = read_listing(write_lines(tmp_path / "a.jsonl", f"\ufeff{lines[0]}", *lines[1:]))  # editors write the BOM
    assert (listing.count, listing.partner(0), listing.partner(1)) == (3, None, 2)


def test_a_network_capture(tmp_path: Path) -> None:
    pytest.importorskip("dpkt")
    sized = [struct.pack(">i", len(each)) + each for each in (METADATA, REPLY)]
    segments = [
        Segment(999, b"", flags="S"),
        Segment(4999, b"", is_request=False, flags="SA"),
        Segment(1000, sized[0]),
        Segment(5000, sized[1], is_request=False),
        Segment(5000 + len(sized[1]) + 50, b"x" * 20, is_request=False),
        *(Segment(1000 + len(sized[0]), sized[0]), Segment(9, b"", flags="S"), Segment(10, sized[0])),
        Segment(7, sized[1], is_request=False),
    ]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(segments))
    listing = read_listing(path)
    assert [listing.cells(entry)[1] for entry in range(listing.count)] == ["req", "resp", "!", "req", "req", "resp"]
    assert [listing.partner(entry) for entry in (0, 3, 4)] == [1, None, 5]
    assert listing.explain(1).data == REPLY
    assert listing.error_of(2).startswith("gap in the responses: 50 bytes missing")
    with pytest.raises(TagwireError, match="--follow can't read network captures"):
        listing_of(path, follows=True)
    listing.close()
