"""Check folders without segments, names that don't match offsets, extreme offsets, and unreadable files.

Every command must end with a TagwireError or a report, never with a traceback.
"""

import shutil
import struct
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from small_logs import write_segment

from tagwire import log
from tagwire.log import file_bytes
from tagwire.log.checkpoints import read_leader_epochs, read_offsets
from tagwire.log.convert import Conversion, convert_partition
from tagwire.log.indexes import OffsetIndex, read_producer_snapshot
from tagwire.log.salvage import salvage
from tagwire.log.verify import verify_partition
from tagwire.records import Record, build
from tagwire_cli.app import app as main

pytestmark = pytest.mark.thorough

_INT64 = (1 << 63) - 1
_WAYS = {
    "verify": ("log", "verify"),
    "stat": ("log", "stat"),
    "dump": ("log", "dump"),
    "state": ("log", "state"),
    "salvage": ("log", "salvage", "--output", "out"),
    "convert": ("log", "convert", "--to", "v3", "--output", "out"),
    "convert-old": ("log", "convert", "--to", "v1", "--output", "out"),
    "convert-sized": ("log", "convert", "--batch-records", "3", "--output", "out"),
    "compact": ("log", "compact", "--include-active", "--output", "out"),
    "whatif": ("whatif", "--to", "v3"),
}


def name(offset: int) -> str:
    return f"{offset:020}.log"


def batch(offset: int, count: int = 2, format: str = "v2", **fields: int) -> bytes:
    built = build([Record(n, 5, b"k%d" % n, b"v") for n in range(count)], format)
    return built.replace(base_offset=offset, **fields).encode()


FOLDERS: dict[str, dict[str, bytes]] = {
    "nothing": {},
    "an empty segment": {name(0): b""},
    "no segment, a snapshot": {f"{0:020}.snapshot": b"\0\1"},
    "indexes alone": {f"{0:020}.index": bytes(16), f"{0:020}.timeindex": b"\xff" * 24, f"{0:020}.txnindex": b"\xff"},
    "a deleted segment": {f"{0:020}.log.deleted": batch(0)},
    "a swap alone": {f"{0:020}.log.swap": b"\xff" * 100},
    "offsets far above the name": {name(0): batch(1 << 40)},
    "offsets below the name": {name(1 << 40): batch(0)},
    "offsets that end far above": {name(0): batch(0, last_offset_delta=_INT64 >> 32) + batch(1 << 31)},
    "the last offset there is": {name(_INT64): batch(_INT64, 1)},
    "offsets beyond the last": {name(_INT64): batch(_INT64, 2)},
    "a batch that goes beyond the last": {name(_INT64 - 1): batch(_INT64 - 1, 1, last_offset_delta=0x7FFFFFFF)},
    "old messages beyond the last": {name(_INT64): batch(_INT64, 1, "v1")},
    "negative offsets": {name(0): batch(-5)},
    "the lowest offset": {name(0): batch(-1 - _INT64)},
    "a name above every offset": {"9" * 20 + ".log": batch(0)},
    "an index of 0xff": {name(0): batch(0), f"{0:020}.index": b"\xff" * 800, f"{0:020}.timeindex": b"\xff" * 1200},
}


@pytest.mark.parametrize("command", _WAYS)
@pytest.mark.parametrize("folder", FOLDERS)
def test_no_command_ends_with_a_traceback(
    command: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("alpha-0")
    path.mkdir()
    for file, data in FOLDERS[folder].items():
        (path / file).write_bytes(data)
    first, *rest = _WAYS[command]
    words = [first, *rest, str(path)]
    result: Result = CliRunner().invoke(main, words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (0, 1)
    if result.exit_code and command in ("convert", "compact"):
        assert not Path("out").exists()


@pytest.mark.parametrize("command", ["verify", "salvage"])
def test_a_partition_without_segments_does_not_end_a_run_over_several(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, data in enumerate((b"", batch(0))):
        Path(f"logs/alpha-{number}").mkdir(parents=True)
        if data:
            Path(f"logs/alpha-{number}", name(0)).write_bytes(data)
    assert CliRunner().invoke(main, [*_WAYS[command], "logs"]).exit_code == 0
    if command == "salvage":
        assert sorted(each.name for each in Path("out").iterdir()) == ["alpha-0", "alpha-1"]


@pytest.mark.parametrize("far", [1 << 31, 1 << 40, -1])
def test_offsets_far_from_the_name_are_rejected_with_their_place(far: int, tmp_path: Path) -> None:
    base, near = 100, batch(100)
    folder = write_segment(tmp_path / "alpha-0", near, batch(base + far), base=base).parent
    with pytest.raises(log.LogError) as raised:
        convert_partition(log.Partition(folder), tmp_path / "out", Conversion("v3"))
    assert (raised.value.rule, raised.value.offset) == ("TWL109", len(near))
    assert not (tmp_path / "out").exists()


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Return a function that makes opening a file fail, even if the tests run as root."""
    rejected: list[Path] = []

    def opened(path: Path) -> FileIO:
        if path in rejected:
            raise PermissionError(13, "Permission denied", str(path))
        return FileIO(path)

    monkeypatch.setattr(file_bytes, "FileIO", opened)
    return rejected.append


def three_segments(folder: Path) -> Path:
    for base in (0, 2, 4):
        write_segment(folder, batch(base), base=base)
    return folder


def test_a_segment_that_cannot_be_read_ends_neither_a_salvage_nor_verifying(unreadable: Any, tmp_path: Path) -> None:
    folder = three_segments(tmp_path / "alpha-0")
    unreadable(folder / name(2))
    rules = [(each.records, [p.rule for p in each.problems]) for each in verify_partition(log.Partition(folder))]
    assert rules == [(2, []), (0, ["TWL100"]), (2, [])]
    reports = salvage(log.Partition(folder), tmp_path / "out")
    assert [(each.records, each.lost_bytes > 0) for each in reports] == [(2, False), (0, True), (2, False)]
    (problem,) = reports[1].problems
    assert (problem.rule, problem.message) == ("TWL100", "can't be read: Permission denied")
    assert [batch.base_offset for batch in log.read(tmp_path / "out" / "alpha-0")] == [0, 4]
    assert CliRunner().invoke(main, ["log", "salvage", str(folder), "--output", str(tmp_path / "2")]).exit_code == 1


def test_data_before_a_disk_error_is_salvaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"".join(batch(2 * n) for n in range(100_000))
    path = write_segment(tmp_path / "in", data)
    read = file_bytes.FileBytes.read

    def failing(self: Any, start: int, size: int) -> bytes:
        if start + size > 4_000_000:
            raise log.LogPathError(f"{path} can't be read at byte {start}: Input/output error")
        return read(self, start, size)

    monkeypatch.setattr(file_bytes.FileBytes, "read", failing)
    (report,) = salvage(log.Partition(tmp_path / "in"), tmp_path / "out")
    assert report.bytes + report.lost_bytes == len(data)
    assert report.bytes > 3_000_000
    assert [problem.rule for problem in report.problems] == ["TWL100"]


@pytest.mark.parametrize(("base", "listed", "now", "rules"), [
    (0, "log", "deleted", []), (2, "log", "deleted", ["TWL100"]), (4, "log", "deleted", []),
    (2, "log", "log.swap", []), (2, "log.swap", "log", []),
])  # fmt: skip
def test_segment_renamed_during_verification(
    base: int, listed: str, now: str, rules: list[str], tmp_path: Path
) -> None:
    """Check that only a missing middle segment is reported: brokers may remove the first and the last segment."""
    path = three_segments(tmp_path / "alpha-0") / name(base)
    renamed = path.rename(path.with_suffix(f".{listed}"))
    partition = log.Partition(path.parent)
    assert len(partition.segments) == 3
    renamed.rename(path.with_suffix(f".{now}"))
    assert [p.rule for report in verify_partition(partition) for p in report.problems] == rules


@pytest.mark.parametrize(
    ("file", "read"),
    [
        (f"{0:020}.snapshot", read_producer_snapshot),
        (f"{0:020}.index", lambda path: OffsetIndex(path, 0)),
        ("leader-epoch-checkpoint", read_leader_epochs),
        ("replication-offset-checkpoint", read_offsets),
    ],
)
def test_gap_of_gigabytes_is_not_read(file: str, read: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / file
    with path.open("wb") as stream:
        stream.write(struct.pack(">h", 1))
        stream.truncate(4 << 30)
    with pytest.raises(log.LogError, match="more than"):
        read(path)


def test_copies_on_two_disks_have_two_output_folders(tmp_path: Path) -> None:
    for disk in ("a", "b"):
        three_segments_at = tmp_path / disk / "alpha-0"
        three_segments_at.parent.mkdir()
        shutil.copytree(three_segments(tmp_path / f"made-{disk}"), three_segments_at)
    words = ["log", "salvage", str(tmp_path / "a"), str(tmp_path / "b"), "--output", str(tmp_path / "out")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    assert "would both be written to" in result.stderr
    assert not (tmp_path / "out").exists()
