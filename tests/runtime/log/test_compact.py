from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest
from compacted_logs import OLD, compact, offsets, one, write
from random_logs import NOW, RandomLog
from small_logs import write_segment

from tagwire import log
from tagwire.log import compaction
from tagwire.log.compact import compact_partition
from tagwire.log.compaction import KEPT, REMOVED, Compaction
from tagwire.log.names import segment_file
from tagwire.records import Record, build, building


def test_batches_keep_their_shape(tmp_path: Path) -> None:
    records = [Record(n, OLD + n, b"k%d" % (n % 2), b"v", ((f"h{n}", None),)) for n in range(5, 9)]
    settings: dict[str, Any] = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 40, "partition_leader_epoch": 3}
    batch = build(records, "v2", compression="lz4", last_offset=11, **settings)
    _, (compacted, _) = compact(write(tmp_path / "alpha-0", [batch, one(12, b"k0", b"w")]))
    assert list(compacted) == records[2:3]
    for name in ("base_offset", "last_offset", "compression", "timestamp_type", *settings):
        assert getattr(compacted, name) == getattr(batch, name), name


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_compacted_segments_need_no_keys_in_memory(tmp_path: Path) -> None:
    segments = [[one(0, b"a", b"v"), one(1, b"b", b"v")], [one(2, b"a", b"w")]]
    report, compacted = compact(write(tmp_path / "alpha-0", *segments), dirty_from=2)
    assert (offsets(compacted), report.keys) == ([1, 2], 1)


def test_empty_segments_except_the_first_are_removed(tmp_path: Path) -> None:
    segments = [[one(n, b"a", b"v"), one(n + 1, b"a", b"w")] for n in (5, 10, 20)]
    folder = write(tmp_path / "alpha-0", *segments, modified=[NOW - 3000, NOW - 2000, NOW])
    compact(folder)
    partition = log.Partition(folder.with_name("compacted-0"))
    assert [(segment.base_offset, segment.size > 0) for segment in partition.segments] == [(5, False), (20, True)]
    assert [segment.path.stat().st_mtime_ns // 1_000_000 for segment in partition.segments] == [NOW - 3000, NOW]


def test_small_segments_are_merged(tmp_path: Path) -> None:
    segments = [[one(n, b"a", b"v"), one(n + 1, b"k%02d" % n, b"w")] for n in (0, 10, 20, 30)]
    folder = write(tmp_path / "alpha-0", *segments)
    size = log.Partition(folder).segments[0].size
    compact_partition(
        log.Partition(folder), tmp_path / "to", Compaction(now=NOW, include_active=True, segment_bytes=3 * size)
    )
    assert [segment.base_offset for segment in log.Partition(tmp_path / "to").segments] == [0, 30]
    assert offsets(list(log.Partition(tmp_path / "to").batches())) == [1, 11, 21, 30, 31]


def test_offsets_of_merged_segments_fit_in_the_index(tmp_path: Path) -> None:
    """The index stores offsets as int32, relative to the first segment that was merged."""
    bases = (0, 1 << 31, (1 << 31) + 10)
    folder = write(tmp_path / "alpha-0", *([one(base, b"%d" % base, b"v")] for base in bases))
    merged = Compaction(now=NOW, include_active=True, segment_bytes=1 << 20)
    compact_partition(log.Partition(folder), tmp_path / "to", merged)
    assert [segment.base_offset for segment in log.Partition(tmp_path / "to").segments] == [0, 1 << 31]


@pytest.mark.parametrize(("indexed", "has_times"), [(0, False), (10, True)])
def test_first_of_merged_segments_decides_about_the_time_index(tmp_path: Path, indexed: int, has_times: bool) -> None:
    folder = write(tmp_path / "alpha-0", [one(0, b"a", b"v")], [one(10, b"b", b"v")])
    (folder / segment_file(indexed, "index")).touch()
    merged = Compaction(now=NOW, include_active=True, segment_bytes=1 << 20)
    compact_partition(log.Partition(folder), tmp_path / "to", merged)
    [segment] = log.Partition(tmp_path / "to").segments
    assert (segment.sibling("timeindex") is not None) == has_times


def test_other_files_of_the_broker_are_copied(copy_of: Callable[[str], Path], tmp_path: Path) -> None:
    source = copy_of("kafka4/alpha-compact-txn-0")
    compact_partition(log.Partition(source), tmp_path / "to", Compaction(now=NOW))
    names = {path.name for path in (tmp_path / "to").iterdir()}
    assert names == {path.name for path in source.iterdir()}
    for path in source.iterdir():
        if path.suffix not in (".index", ".timeindex"):
            assert (tmp_path / "to" / path.name).read_bytes() == path.read_bytes(), path.name


def test_log_compacted_by_a_broker_does_not_change(logs: Path, tmp_path: Path) -> None:
    """Compacting a log that Kafka's cleaner compacted must change nothing, as long as no delete horizon has expired."""
    seen = 0
    for number, partition in enumerate(log.find_partitions(logs)):
        if "compact" not in partition.path.name or "lz4" in partition.path.name:
            continue
        end = partition.segments[-1].base_offset or 0
        clean = log.LogDirectory(partition.path.parent).cleaner_offsets
        if clean.get(log.TopicPartition(partition.topic or "", 0)) != end:
            continue
        report = compact_partition(partition, tmp_path / str(number), Compaction(now=0, dirty_from=None))
        assert [segment.removed for segment in report.segments] == [{}] * len(report.segments), partition
        seen += sum(segment.records for segment in report.segments)
    assert seen > 50


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(ENOSPC, "No space left on device"), BrokenPipeError()])
def test_an_interrupt_or_an_error_of_the_caller_leaves_nothing(tmp_path: Path, error: BaseException) -> None:
    folder = write(tmp_path / "alpha-0", [one(n, b"k%d" % n, b"v") for n in range(9)])

    def interrupt(segment: log.Segment, record: Record, reason: str) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        compact_partition(
            log.Partition(folder), tmp_path / "to", Compaction(now=NOW, include_active=True), explain=interrupt
        )
    assert caught.value is error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alpha-0"]


def test_compacting_again_changes_nothing(tmp_path: Path) -> None:
    reasons: set[str] = set()
    for seed in range(24):
        magics = [("v2",), ("v1", "v2"), ("v0", "v1", "v2")][seed % 3]
        folder = tmp_path / str(seed) / "alpha-0"
        RandomLog(seed, magics).write(folder)
        report, compacted = compact(folder, include_active=seed % 2 == 0)
        before = [record for batch in log.Partition(folder).batches() for record in batch]
        after = [record for batch in compacted for record in batch]
        assert all(record in before for record in after)
        for segment in report.segments:
            reasons |= segment.kept.keys() | segment.removed.keys()
            assert sum(segment.kept.values()) + sum(segment.removed.values()) == segment.records
    assert reasons >= {"latest", "tombstone", "marker", "superseded", "aborted", "expired_tombstone"}
    assert reasons <= KEPT.keys() | REMOVED.keys()


def test_verdict_on_each_record(tmp_path: Path) -> None:
    folder = write(tmp_path / "alpha-0", [one(0, b"a", b"v"), one(1, b"a", b"w")])
    reasons: list[tuple[int, str]] = []
    options = Compaction(now=NOW, include_active=True)
    compact_partition(
        *(log.Partition(folder), tmp_path / "to", options),
        explain=lambda _, record, why: reasons.append((record.offset, why)),
    )
    assert reasons == [(0, "superseded"), (1, "latest")]


def test_an_empty_log(tmp_path: Path) -> None:
    folder = make(tmp_path / "alpha-0")
    (folder / segment_file(7, "log")).write_bytes(b"")
    for include_active in (False, True):
        options = Compaction(now=NOW, include_active=include_active)
        report = compact_partition(log.Partition(folder), tmp_path / f"to-{include_active}", options)
        assert (report.compacted_to, report.keys) == (7, 0)
        assert [path.name for path in (tmp_path / f"to-{include_active}").glob("*.log")] == [segment_file(7, "log")]
    report = compact_partition(log.Partition(make(tmp_path / "beta-0")), tmp_path / "none", Compaction(now=NOW))
    assert report.segments == []


@pytest.mark.usefixtures("each_engine")
def test_a_batch_of_many_records_is_compacted_in_parts_as_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [Record(n, 5 + n, b"k%d" % (n % 5), None if n % 7 == 6 else b"v") for n in range(40)]
    source = write_segment(tmp_path / "alpha-0", build(keys, "v3", compression="gzip"))

    def compacted(name: str) -> bytes:
        compact_partition(log.Partition(source.parent), tmp_path / name, Compaction(now=1000, include_active=True))
        return (tmp_path / name / source.name).read_bytes()

    whole = compacted("whole")
    for module in (building, compaction):
        monkeypatch.setattr(module, "AT_ONCE", 3)
    assert compacted("parts") == whole != source.read_bytes()
