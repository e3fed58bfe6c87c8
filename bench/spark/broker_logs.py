"""The folder of a live broker for `growth`: indexes are real, and segments are holes between two batches.

Planning reads names, sizes, indexes, and of a stream's segments the last batch. So a segment of 1 GiB takes
two blocks of the disk. Closed segments have the same index, under the name of each (offsets in it are
relative), so what is read of it comes from the page cache. Active segments are half as large, and their
indexes are preallocated.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tagwire.log.names import segment_file
from tagwire.records import Record, build

__all__ = ["RECORDS", "STEP", "append", "batch_at", "index_bytes", "make_broker"]

RECORDS: Final = 5
"""Of a batch."""
STEP: Final = 16384
"""Bytes between entries: a batch each."""
_TIME: Final = 1_700_000_000_000
_PREALLOCATED: Final = 10 << 20
_LINKS: Final = 30_000
"""How many names a file has at most; file systems have limits."""
_BATCH: Final = build([Record(n, _TIME, b"k", bytes(40)) for n in range(RECORDS)], "v2").encode()


def batch_at(offset: int) -> bytes:
    """A batch whose first record has this offset; its checksum does not cover it."""
    return struct.pack(">q", offset) + _BATCH[8:]


def index_bytes(kind: str, batches: int) -> bytes:
    """An index of this many batches, of which the first has no entry."""
    each = range(1, batches)
    if kind == "index":
        return b"".join(struct.pack(">ii", RECORDS * n, STEP * n) for n in each)
    return b"".join(struct.pack(">qi", _TIME + n, RECORDS * n) for n in each)


def make_broker(root: Path, partitions: int, segments: int, size: int, *, has_batches: bool = True) -> Path:
    """A folder of logs of one topic, made unless it is there; `segments` are those of each partition.

    Without batches, segments are names of the same hole and their indexes of the same file: that is enough for a
    batch read's plan.
    """
    if root.exists():
        return root
    partial = root.with_name(f".{root.name}")
    partial.mkdir(parents=True)
    batches = size // STEP
    closed = {kind: _links(partial / f"closed.{kind}", index_bytes(kind, batches)) for kind in ("index", "timeindex")}
    holes = _links(partial / "hole", b"", size)
    for number in range(partitions):
        folder = partial / f"t-{number}"
        folder.mkdir()
        for place in range(segments):
            base, is_active = place * batches * RECORDS, place + 1 == segments
            log = folder / segment_file(base, "log")
            if has_batches:
                _write_log(log, base, batches // 2 if is_active else batches)
            else:
                os.link(next(holes), log)
            for kind, links in closed.items():
                own = batches // 2 if is_active and has_batches else 0
                _write_index(folder / segment_file(base, kind), kind, own, links)
    for path in partial.iterdir():
        if path.is_file():
            path.unlink()
    partial.rename(root)
    return root


def append(root: Path) -> None:
    """Add a batch to each partition of a folder."""
    for folder in root.iterdir():
        log = max(folder.glob("*.log"))
        with log.open("r+b") as file:
            file.seek(-len(_BATCH), os.SEEK_END)
            offset = int.from_bytes(file.read(8), "big") + RECORDS
            file.seek(0, os.SEEK_END)
            file.write(batch_at(offset))


def _write_log(path: Path, base: int, batches: int) -> None:
    with path.open("wb") as file:
        file.write(batch_at(base))
        file.seek((batches - 1) * STEP)
        file.write(batch_at(base + (batches - 1) * RECORDS))


def _write_index(path: Path, kind: str, batches: int, closed: Iterator[Path]) -> None:
    """That of an active segment with this many batches; of a closed one with 0."""
    if not batches:
        os.link(next(closed), path)
        return
    with path.open("wb") as file:
        file.write(index_bytes(kind, batches))
        file.truncate(_PREALLOCATED - _PREALLOCATED % (8 if kind == "index" else 12))


def _links(path: Path, data: bytes, size: int = 0) -> Iterator[Path]:
    """A file to be linked to, another one whenever it has enough names."""
    while True:
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        if size:
            os.truncate(path, size)
        for _ in range(_LINKS):
            yield path
