"""Run `verify` and `salvage` on a damaged small segment: each byte is flipped in turn, or the end is cut off."""

from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree

import pytest
from small_logs import write_segment

from tagwire import log
from tagwire.log.salvage import salvage
from tagwire.log.verify import verify_partition
from tagwire.records import Record, build, read_batches

CopyOf = Callable[[str], Path]
SEGMENT = "00000000000000000000.log"
V2_EPOCH = range(12, 16)
"""The positions of the leader epoch's bytes in a v2 batch. No checksum covers these bytes."""


def small() -> list[bytes]:
    plain = build([Record(10, 300, b"k", b"v"), Record(11, 301, None, b"w", (("h", b"1"),))], "v2")
    packed = build([Record(20, 400, b"kk", b"v" * 40), Record(21, 401, b"l", None)], "v2", compression="gzip")
    wrapper = build([Record(4, 200, b"k", b"v" * 20), Record(5, 201, b"l", b"w" * 20)], "v1", compression="gzip")
    message = build([Record(1, -1, b"k", b"v")], "v0")
    last = build([Record(30, 500, b"k", b"v")], "v2")
    return [batch.encode() for batch in (message, wrapper, plain, packed, last)]


class Damaged:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "alpha-0"
        self.folder.mkdir()
        self.output = folder / "saved"

    def write(self, data: bytes) -> None:
        self.size = len(data)
        (self.folder / SEGMENT).write_bytes(data)

    def problems(self) -> list[log.LogProblem]:
        (report,) = verify_partition(log.Partition(self.folder))
        return report.problems

    def saved(self) -> bytes:
        (report,) = salvage(log.Partition(self.folder), self.output)
        saved_folder = self.output / "alpha-0"
        data = (saved_folder / SEGMENT).read_bytes()
        assert [each.problems for each in verify_partition(log.Partition(saved_folder))] == [[], [], []]
        assert (report.bytes, report.lost_bytes) == (len(data), self.size - len(data) if report.problems else 0)
        rmtree(saved_folder)
        return data


@pytest.fixture
def damaged(tmp_path: Path) -> Damaged:
    return Damaged(tmp_path)


def ranges(batches: list[bytes]) -> Iterator[tuple[int, int]]:
    start = 0
    for batch in batches:
        yield start, start + len(batch)
        start += len(batch)


def goes_on(batches: list[bytes], number: int, changed: bytes) -> bool:
    """Return whether `changed` is a readable batch whose offsets fit between the batches next to batch `number`."""
    others = [next(read_batches(batch)) for batch in batches]
    try:
        batch = next(read_batches(changed))
        list(batch)
    except Exception:
        return False
    low = others[number - 1].last_offset if number else -1
    high = others[number + 1].base_offset if number + 1 < len(others) else 1 << 31
    return low < batch.base_offset <= batch.last_offset < high


@pytest.mark.parametrize("mask", [0x01, pytest.param(0xFF, marks=pytest.mark.thorough)])
def test_every_byte_flipped(mask: int, damaged: Damaged) -> None:
    data = b"".join(batches := small())
    missed = 0
    for number, (start, end) in enumerate(ranges(batches)):
        for at in range(start, end):
            flipped = bytearray(data)
            flipped[at] ^= mask
            damaged.write(bytes(flipped))
            found = damaged.problems()
            saved = damaged.saved()
            rest = [batch for each, batch in enumerate(batches) if each != number]
            if not found:
                missed += 1
                assert at - start < 8 or (number >= 2 and at - start in V2_EPOCH), (number, at - start)
                assert goes_on(batches, number, bytes(flipped[start:end]))
                assert saved == bytes(flipped)
                continue
            following = len(data) if number + 1 == len(batches) else end + len(batches[number + 1])
            assert all(start <= problem.position < following for problem in found), (number, at - start, found)
            assert saved in (b"".join(rest), bytes(flipped)), (number, at - start)
    assert missed < len(data) / 10


@pytest.mark.thorough
def test_every_length_cut(damaged: Damaged) -> None:
    data = b"".join(batches := small())
    starts = [start for start, _ in ranges(batches)]
    for size in range(len(data)):
        damaged.write(data[:size])
        found = damaged.problems()
        begun = max(start for start in starts if start <= size)
        # If only the zeros at the start of a batch are left, they look like preallocated space, which is not a problem.
        is_end = not any(data[begun:size])
        assert [(each.rule, each.position) for each in found] == ([] if is_end else [("TWL101", begun)])
        assert damaged.saved() == data[:begun]


def test_bytes_in_between_are_skipped(damaged: Damaged) -> None:
    batches = small()
    damaged.write(batches[0] + b"garbage" * 9 + batches[2] + bytes(5) + batches[4])
    one, two = damaged.problems()
    begin, end = len(batches[0]), len(batches[0]) + 63
    assert begin <= one.position < end and f"bytes {begin} to {end} are skipped" in one.message
    assert two.position >= end + len(batches[2])
    assert damaged.saved() == batches[0] + batches[2] + batches[4]


def test_value_that_contains_a_batch(damaged: Damaged) -> None:
    """Check that a valid batch inside a damaged batch's value is not saved, even if its offsets fit the log."""
    inner = build([Record(15, 300, b"inner", b"x")], "v2").encode()
    outer = build([Record(12, 300, b"k", inner)], "v2").encode()
    begin, end = (build([Record(n, 300, b"k", b"v")], "v2").encode() for n in (11, 20))
    broken = bytearray(outer)
    broken[-1] ^= 1
    damaged.write(begin + bytes(broken) + end)
    assert damaged.saved() == begin + end


@pytest.mark.parametrize(
    "name",
    ["kafka4/alpha-txn-many-0", "kafka4/__cluster_metadata-0", "kafka28/alpha-m0-segs-0", "kafka4/alpha-delrec-0"],
)
def test_intact_logs_do_not_change(name: str, logs: Path, copy_of: CopyOf, tmp_path: Path) -> None:
    for path in (copy := copy_of(name)).glob("*.txnindex"):
        path.unlink()  # an index is written even if it was missing
    partition = log.Partition(copy)
    reports = salvage(partition, tmp_path / "saved")
    assert all(not report.problems and not report.lost_bytes for report in reports)
    for report, file in zip(reports, (*partition.segments, *partition.metadata_snapshots), strict=True):
        batches = list(file.batches(None))
        assert (report.file, report.batches) == (file.path, len(batches))
        assert report.records == sum(len(list(batch)) for batch in batches)
    saved_folder = tmp_path / "saved" / copy.name
    for path in saved_folder.iterdir():
        if path.suffix not in (".index", ".timeindex"):  # a broker's indexes have other intervals
            assert path.read_bytes() == (logs / name / path.name).read_bytes(), path.name
    assert all(not report.problems for report in verify_partition(log.Partition(saved_folder)))
    left_out = {path.suffix for path in partition.files} - {path.suffix for path in saved_folder.iterdir()}
    assert left_out <= {".snapshot"}


def test_epochs_and_snapshots_that_are_damaged(copy_of: CopyOf, tmp_path: Path) -> None:
    folder = copy_of("kafka4/__cluster_metadata-0")
    whole = (folder / "leader-epoch-checkpoint").read_text()
    (folder / "leader-epoch-checkpoint").write_text("0\n1\nx")
    (folder / "partition.metadata").write_text("topic_id=?")
    (snapshot,) = folder.glob("*.checkpoint")
    snapshot.write_bytes(snapshot.read_bytes()[:-1])
    *_, report, metadata = salvage(log.Partition(folder), tmp_path / "saved")
    saved_folder = tmp_path / "saved" / folder.name
    assert report.file == snapshot and report.bytes == 0 and report.lost_bytes == snapshot.stat().st_size
    assert (metadata.file.name, metadata.lost_bytes, metadata.problems[0].rule) == ("partition.metadata", 10, "TWL241")
    assert (saved_folder / "leader-epoch-checkpoint").read_text().split()[2:] == whole.split()[2:]
    assert not (saved_folder / "partition.metadata").exists() and not (saved_folder / snapshot.name).exists()


def test_epochs_that_cannot_be_read_are_rebuilt(
    broken_status: Callable[[Path], None], copy_of: CopyOf, tmp_path: Path
) -> None:
    """An unreadable file is not a missing file, although `Path.is_file` treats both alike since Python 3.14."""
    folder = copy_of("kafka4/__cluster_metadata-0")
    epochs = folder / "leader-epoch-checkpoint"
    broken_status(epochs)
    list(salvage(log.Partition(folder), tmp_path / "saved"))
    assert (tmp_path / "saved" / folder.name / epochs.name).read_text().split()[2:] == epochs.read_text().split()[2:]


def test_rebuilt_epochs_ascend(tmp_path: Path) -> None:
    folder = tmp_path / "alpha-0"
    batches = []
    for offset, epoch in enumerate([0, 2, 1, 2, 4, 3, 5]):
        data = build([Record(offset, 300, b"k", b"v")], "v2").encode()
        batches.append(data[: V2_EPOCH[0]] + epoch.to_bytes(4, "big") + data[V2_EPOCH[-1] + 1 :])
    write_segment(folder, *batches)
    (folder / "leader-epoch-checkpoint").write_text("0\n1\nx")
    salvage(log.Partition(folder), tmp_path / "saved")
    rebuilt = (tmp_path / "saved" / folder.name / "leader-epoch-checkpoint").read_text()
    assert rebuilt == "0\n4\n0 0\n2 1\n4 4\n5 6\n"


def test_nothing_is_overwritten_or_left_incomplete(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = log.Partition(logs / "kafka4" / "alpha-txn-many-0")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        salvage(partition, tmp_path, progress=interrupt)
    assert list(tmp_path.iterdir()) == []
    salvage(partition, tmp_path)
    with pytest.raises(log.LogPathError, match="already exists"):
        salvage(partition, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(log.LogPathError, match="can't be written"):
        salvage(partition, tmp_path / "file")
