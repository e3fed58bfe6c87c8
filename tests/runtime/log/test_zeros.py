import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_logs import write_segment

from tagwire import log
from tagwire.log import damage
from tagwire.log.damage import Damage, pieces
from tagwire.log.file_bytes import FileBytes, open_file
from tagwire.log.salvage import salvage
from tagwire.log.scan import Scan
from tagwire.records import Record, build

FORMATS = ("v0", "v1", "v2", "v3", "kip82-int", "kip82-str", "kip87", "v3-zigzag")


def batch(offset: int, format: str, value: bytes = b"v") -> bytes:
    return build([Record(offset, -1 if format == "v0" else 300, None, value)], format).encode()


def found(data: bytes, format: str) -> list[str]:
    return [str(piece) for piece in pieces(Scan("file", data, format))]


def layout(rnd: random.Random, formats: tuple[str, ...]) -> bytes:
    """Return whole and truncated batches, zeros and other bytes in random order.

    Whole batches can begin with zeros, too: their first field is the base offset, an int64.
    """
    parts, offset = [], 0
    for _ in range(rnd.randint(1, 5)):
        whole = batch(offset, rnd.choice(formats), bytes(rnd.choice((0, 1, 90))))
        cut = whole[: rnd.choice((1, 8, 9, 11, 12, 13, 16, 17, 20))]
        zeros = bytes(rnd.choice((0, 1, 7, 8, 12, 16, 17, 62, 63, 64, 65, 200)))
        parts += rnd.choices((whole, cut + zeros, zeros, b"\xff" + zeros, b"\0\0\1" + zeros), (4, 3, 2, 1, 1), k=3)
        offset += rnd.choice((1, 255, 1 << 16, 1 << 30, 1 << 40))
    return b"".join(parts)


@pytest.mark.thorough
@pytest.mark.parametrize("format", ["auto", *FORMATS])
def test_every_piece_is_found_as_by_trying_every_byte(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rnd = random.Random(format)
    formats = FORMATS[:4] if format == "auto" else (format,)
    files = [layout(rnd, formats) for _ in range(60)]
    got = [found(data, format) for data in files]

    def every(scan: Scan, position: int) -> Iterator[int]:
        return iter(range(position, len(scan.data)))

    monkeypatch.setattr(damage, "_tried", every)
    assert got == [found(data, format) for data in files]
    assert sum("Damage" in each[0] for each in got if each) > 8 < sum("Damage" not in each[-1] for each in got if each)


@pytest.mark.parametrize(
    ("format", "size"),
    [
        *((format, size) for format in ("auto", *FORMATS) for size in (64, (1 << 16) + 5)),
        *(("v2", size) for size in (*range(60, 70), 1 << 16, 1 << 20)),
    ],
)
def test_zeros_are_skipped_in_few_steps(format: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "v2" if format == "auto" else format
    tries = 0

    class Counted(Scan):
        def size(self, position: int) -> int:
            nonlocal tries
            tries += 1
            return super().size(position)

    first, cut, last = batch(0, name), batch(1, name)[:11], batch(2, name)
    for tail in (b"", last):
        tries = 0
        data = first + cut + bytes(size) + tail
        got = [each.position for each in pieces(Counted("file", data, format)) if not isinstance(each, Damage)]
        assert got == ([0, len(data) - len(last)] if tail else [0])
        assert tries < 200


def test_zeros_are_not_searched_for_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = FileBytes.__getitem__

    def counted(data: FileBytes, part: slice) -> bytes:
        windows.append(part.stop - part.start)
        return read(data, part)

    monkeypatch.setattr(FileBytes, "__getitem__", counted)
    windows: list[int] = []
    path = write_segment(tmp_path, batch(0, "v2"), batch(1, "v2")[:11], bytes(1 << 22))
    with open_file(path) as data:
        assert len([*pieces(Scan("file", data))]) == 2 and max(windows) <= 1 << 16
    count = len(windows)
    os.truncate(path, 1 << 30)  # adds a hole, which is not read
    with open_file(path) as data:
        assert len([*pieces(Scan("file", data))]) == 2 and len(windows) < 3 * count


def test_gap_of_zeros_is_salvaged_and_read_over(tmp_path: Path) -> None:
    whole = [batch(n, "v2") for n in range(4)]
    path = write_segment(tmp_path / "t-0", whole[0], whole[1][:11], bytes(1 << 20), whole[2], bytes(1 << 20), whole[3])
    [report] = salvage(log.Partition(path.parent), tmp_path / "saved")
    assert (tmp_path / "saved" / "t-0" / path.name).read_bytes() == whole[0] + whole[2] + whole[3]
    assert report.lost_bytes == 11 + (2 << 20)
