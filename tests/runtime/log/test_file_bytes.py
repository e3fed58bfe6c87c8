"""Truncate a segment while it is read. Each reader must raise a clear error, and the process must survive.

Each reader runs in its own process, because reading beyond the end of a mapped file raises SIGBUS.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import small_logs
from command import tagwire_result
from native_engine import in_use, native

from tagwire import log
from tagwire.log.compact import compact_partition
from tagwire.log.compaction import Compaction
from tagwire.log.convert import Conversion, convert_partition
from tagwire.log.file_bytes import open_file
from tagwire.log.salvage import salvage
from tagwire.log.scan import QuickBatch, Scan
from tagwire.log.verify import verify_partition
from tagwire.records import Record, build

_CUT = """
import os, sys
from pathlib import Path
from tagwire import TagwireError, log
from tagwire.log.convert import Conversion, convert_partition
from tagwire.log.file_bytes import FileBytes
from tagwire.log.salvage import salvage
from tagwire.log.stat import stat
from tagwire.log.verify import verify_segment
from tagwire.log.whatif import WhatIf

way, path = sys.argv[1], Path(sys.argv[2])
read, reads = FileBytes.read, 0

def cut_in_between(self, start, size):
    global reads
    reads += 1
    if reads == 3:
        os.truncate(path, 100_000)
    return read(self, start, size)

FileBytes.read = cut_in_between
ways = {
    "read": lambda: [list(batch) for batch in log.read(path)],
    "columns": lambda: [len(array) for array in log.columns(path)],
    "heads": lambda: [len(array) for array in log.columns(path, level="batch")],
    "spans": lambda: log.Segment(path).end_offset(),
    "stat": lambda: stat(log.Segment(path)),
    "whatif": lambda: WhatIf(Conversion("v3")).add(log.Segment(path), "t"),
    "convert": lambda: convert_partition(log.Partition(path.parent), path.parent.parent / "out", Conversion("v3")),
}
try:
    ways[way]()
except TagwireError as error:
    print(error)
else:
    print("nothing was noticed")
"""


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    batch = build([Record(n, 5, b"k", b"v" * 500) for n in range(30)], "v2")
    return small_logs.write_segment(tmp_path / "alpha-0", *(batch.replace(base_offset=30 * n) for n in range(200)))


@pytest.mark.thorough
@pytest.mark.parametrize("engine", [pytest.param("native", marks=native), "python"])
@pytest.mark.parametrize("way", ["read", "columns", "heads", "spans", "stat", "whatif", "convert"])
def test_a_segment_that_is_cut_while_it_is_read_is_reported(way: str, engine: str, segment: Path) -> None:
    if engine == "python" and way == "columns":
        pytest.importorskip("pyarrow")
    run = subprocess.run(
        [sys.executable, "-c", _CUT, way, str(segment)],
        env={"TAGWIRE_ENGINE": engine, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert "was truncated while it was read" in run.stdout
    assert str(segment) in run.stdout


def test_reads_equal_slices(segment: Path) -> None:
    data = segment.read_bytes()
    size = len(data)
    with open_file(segment) as file:
        for start in (0, 5, 4090, size - 3, 100, size - 1, size, size + 5, 1 << 19, (1 << 19) - 3, 0):
            for length in (0, 1, 17, 64, 1 << 16, size):
                assert file[start : start + length] == data[start : start + length]


def test_appended_data_is_not_seen_during_a_read(segment: Path) -> None:
    with open_file(segment) as data:
        scan = Scan(str(segment), data)
        spans = scan.spans()
        next(spans)
        with segment.open("ab") as file:
            file.write(b"\1" * 1000)
        assert sum(1 for _ in spans) == 199
    with pytest.raises(log.LogError):
        list(log.read(segment))


OFFSETS = [[0, 10, 20], [10, 20], [0, 20]]


def _columns(found: log.Partition, _: Path) -> bool:
    stream = log.columns(found.path, ["offset"])
    stream._partition = found  # the segments before the replacement
    return [row["offset"] for array in stream for row in pa.array(array).to_pylist()] in OFFSETS


def _command(found: log.Partition, *words: str) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log, "find_partitions", lambda path: [found])
        return tagwire_result(*words, str(found.path)).exit_code == 0


STEADY: dict[str, Callable[[log.Partition, Path], object]] = {
    "verify": lambda found, _: [each for report in verify_partition(found) for each in report.problems] == [],
    "read": lambda found, _: [record.offset for batch in found.batches() for record in batch] in OFFSETS,
    "convert": lambda found, out: convert_partition(found, out, Conversion("v3")),
    "compact": lambda found, out: compact_partition(found, out, Compaction(now=0, include_active=True)),
    "salvage": lambda found, out: [each for report in salvage(found, out) for each in report.problems] == [],
    "columns": _columns,
    "stat": lambda found, _: _command(found, "log", "stat"),
    "whatif": lambda found, _: _command(found, "whatif", "--to", "v3"),
}


@pytest.mark.parametrize("change", ["compaction", "retention", "first swap renamed", "last swap renamed"])
@pytest.mark.parametrize("way", STEADY)
def test_segments_that_a_broker_replaces_after_the_listing_are_no_damage(way: str, change: str, tmp_path: Path) -> None:
    first, second, last = (
        small_logs.write_segment(tmp_path / "t-0", build([Record(base, 5, b"%d" % base, b"v")], "v2"), base=base)
        for base in (0, 10, 20)
    )
    renamed = last if change.startswith("last") else first
    if "renamed" in change:
        second.write_bytes(b"")
        renamed.rename(f"{renamed}.swap")
    found = log.Partition(tmp_path / "t-0")
    assert len(found.segments) == 3
    if "renamed" in change:
        Path(f"{renamed}.swap").rename(renamed)
    elif change == "compaction":  # a new segment replaces the first two
        swap = first.with_suffix(".log.swap")
        swap.write_bytes(first.read_bytes() + second.read_bytes())
        swap.replace(first)
        second.unlink()
    else:
        first.unlink()
    assert STEADY[way](found, tmp_path / "out")


@in_use
def test_batches_across_the_ends_of_windows_are_read_natively(tmp_path: Path) -> None:
    batches = [build([Record(offset, 0, None, b"v" * 100_000)], base_offset=offset).encode() for offset in range(12)]
    batches.append(build([Record(12, 0, None, b"v" * 1_000_000)], base_offset=12).encode())
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(b"".join(batches))
    with open_file(path) as data:
        found = [(batch.position, type(batch), bytes(batch.encode())) for batch in Scan(str(path), data).batches()]
    positions = [sum(map(len, batches[:number])) for number in range(len(batches))]
    assert found == [(at, QuickBatch, batch) for at, batch in zip(positions, batches, strict=True)]
