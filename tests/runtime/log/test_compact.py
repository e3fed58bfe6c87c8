"""Test each rule of log compaction on hand-made and random logs. Compacting a second time must change nothing.

test_kafka_compacts_alike.py tests that Kafka's own cleaner keeps the same records.
"""

import os
from collections.abc import Callable, Sequence
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest
from random_logs import DAY, NOW, RandomLog
from small_logs import write_segment

from tagwire import log
from tagwire.log import compaction
from tagwire.log.compact import CompactReport, compact_partition
from tagwire.log.compaction import KEPT, REMOVED, Compaction, CompactionError
from tagwire.log.names import segment_file
from tagwire.log.verify import verify_partition
from tagwire.records import Record, RecordBatch, build, building

COMMIT, ABORT = b"\0\0\0\1", b"\0\0\0\0"
OLD = NOW - 30 * DAY


def write(folder: Path, *segments: Sequence[RecordBatch], modified: Sequence[int] = ()) -> Path:
    for number, batches in enumerate(segments):
        path = write_segment(folder, *batches, base=batches[0].base_offset)
        if modified:
            os.utime(path, ns=(modified[number] * 1_000_000, modified[number] * 1_000_000))
    return folder


def compact(folder: Path, **options: Any) -> tuple[CompactReport, list[RecordBatch]]:
    """Compact a partition, by default including its active segment, and check that compacting again changes nothing."""
    rules: dict[str, Any] = {"now": NOW, "include_active": True} | options
    target, again = folder.with_name("compacted-0"), folder.with_name("again-0")
    report = compact_partition(log.Partition(folder), target, Compaction(**rules))
    files = list(verify_partition(log.Partition(target), rules.get("format", "auto")))
    assert [each for each in files if each.problems] == []
    compact_partition(log.Partition(target), again, Compaction(**rules))
    assert contents(again) == contents(target)
    return report, list(log.Partition(target).batches(None, rules.get("format", "auto")))


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def one(offset: int, key: bytes | None, value: bytes | None, format: str = "v2", **settings: Any) -> RecordBatch:
    return build([Record(offset, OLD + offset, key, value)], format, **settings)


def offsets(batches: Sequence[RecordBatch]) -> list[int]:
    return [record.offset for batch in batches for record in batch]


def txn(offset: int, key: bytes, value: bytes | None = b"v", producer: int = 1, **settings: Any) -> RecordBatch:
    numbers: dict[str, Any] = {"producer_id": producer, "producer_epoch": 0, "base_sequence": offset}
    return one(offset, key, value, is_transactional=True, **numbers | settings)


def marker(offset: int, kind: bytes, producer: int = 1, epoch: int = 0, **settings: Any) -> RecordBatch:
    record = Record(offset, OLD + offset, kind, b"\0\0\0\0\0\0")
    flags = {"is_transactional": True, "is_control": True}
    return build([record], "v2", producer_id=producer, producer_epoch=epoch, **flags, **settings)


@pytest.mark.parametrize("format", ["v0", "v1", "v2", "v3", "kip82-int", "kip82-str", "kip87"])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_the_last_of_every_key(tmp_path: Path, format: str, codec: str) -> None:
    time = -1 if format == "v0" else OLD
    first = [Record(n, time, b"k%d" % (n % 3), b"v%d" % n) for n in range(10, 20)]
    second = [Record(n, time, b"k%d" % (n % 2), b"v%d" % n) for n in range(20, 24)]
    sets = [build(each, format, compression=codec) for each in (first, second)]
    report, batches = compact(write(tmp_path / "alpha-0", sets), format=format)
    assert offsets(batches) == [17, 22, 23]
    assert [record.value for batch in batches for record in batch] == [b"v17", b"v22", b"v23"]
    assert {batch.compression for batch in batches} == {codec}
    assert (report.compacted_to, report.because, report.keys) == (24, "the log ends there", 3)
    (segment,) = report.segments
    assert (segment.records, segment.new_records, segment.kept) == (14, 3, {"latest": 3})
    assert segment.removed == {"superseded": 11}


def test_batches_keep_their_shape(tmp_path: Path) -> None:
    records = [Record(n, OLD + n, b"k%d" % (n % 2), b"v", ((f"h{n}", None),)) for n in range(5, 9)]
    settings: dict[str, Any] = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 40, "partition_leader_epoch": 3}
    batch = build(records, "v2", compression="lz4", last_offset=11, **settings)
    _, (compacted, _) = compact(write(tmp_path / "alpha-0", [batch, one(12, b"k0", b"w")]))
    assert list(compacted) == records[2:3]
    for name in ("base_offset", "last_offset", "compression", "timestamp_type", *settings):
        assert getattr(compacted, name) == getattr(batch, name), name


def test_append_time_stays(tmp_path: Path) -> None:
    records = [Record(n, NOW, b"k%d" % (n % 2), b"v") for n in range(4)]
    batch = build(records, "v2", timestamp_type="append", append_time=NOW)
    _, (compacted,) = compact(write(tmp_path / "alpha-0", [batch]))
    assert (compacted.timestamp_type, compacted.max_timestamp, list(compacted)) == ("append", NOW, records[2:])


def test_compaction_without_removals_keeps_the_bytes(tmp_path: Path) -> None:
    batches = [build([Record(n, OLD, b"k%d" % n, b"v")], "v2", compression="gzip") for n in range(9)]
    folder = write(tmp_path / "alpha-0", batches)
    compact(folder)
    name = segment_file(0, "log")
    assert (folder.with_name("compacted-0") / name).read_bytes() == (folder / name).read_bytes()


def test_keys_that_only_begin_alike(tmp_path: Path) -> None:
    keys = [b"", b"k", b"k" * 15, b"k" * 16, b"k" * 17, b"k" * 400]
    batches = [one(n, key, b"v") for n, key in enumerate(keys)]
    report, compacted = compact(write(tmp_path / "alpha-0", batches))
    assert (offsets(compacted), report.keys) == (list(range(6)), 6)


@pytest.mark.parametrize("format", ["v2", "v3"])
def test_tombstone_is_removed_after_its_delete_horizon(tmp_path: Path, format: str) -> None:
    batches = [one(0, b"a", b"v", format), one(1, b"a", None, format), one(2, b"b", b"v", format)]
    folder = write(tmp_path / "alpha-0", batches)
    report, compacted = compact(folder, delete_retention_ms=1000, format=format)
    assert offsets(compacted) == [1, 2]
    assert [batch.delete_horizon_ms for batch in compacted] == [NOW + 1000, None]
    assert [record.timestamp for record in compacted[0]] == [OLD + 1]
    assert report.segments[0].kept == {"tombstone": 1, "latest": 1}
    for later, kept in ((NOW + 999, [1, 2]), (NOW + 1000, [2])):
        target = tmp_path / str(later)
        options = Compaction(now=later, include_active=True, format=format)
        compact_partition(log.Partition(folder.with_name("compacted-0")), target, options)
        assert offsets(list(log.Partition(target).batches(None, format))) == kept


def test_tombstone_without_retention_is_removed_immediately(tmp_path: Path) -> None:
    report, compacted = compact(
        write(tmp_path / "alpha-0", [one(0, b"a", b"v"), one(1, b"a", None), one(2, b"b", b"v")]), delete_retention_ms=0
    )
    assert (offsets(compacted), report.segments[0].removed) == ([2], {"superseded": 1, "expired_tombstone": 1})


@pytest.mark.parametrize("format", ["v0", "v1", "kip82-int", "kip87", "kip82-str"])
def test_in_older_formats_the_segment_is_as_old_as_the_tombstone(tmp_path: Path, format: str) -> None:
    def message(offset: int, key: bytes, value: bytes | None) -> RecordBatch:
        return build([Record(offset, -1 if format == "v0" else OLD, key, value)], format)

    segments = [
        [message(0, b"a", None), message(1, b"x", b"v")],
        [message(2, b"b", None), message(3, b"y", b"v")],
        [message(4, b"c", None), message(5, b"z", b"v")],
    ]
    folder = write(tmp_path / "alpha-0", *segments, modified=[NOW - DAY, NOW - DAY + 1, NOW])
    report, compacted = compact(folder, format=format)
    assert offsets(compacted) == [1, 2, 3, 4, 5]
    assert [each.removed for each in report.segments] == [{"expired_tombstone": 1}, {}, {}]


def test_earlier_compaction_determines_the_age_of_tombstones(tmp_path: Path) -> None:
    segments = [[one(n, b"k%d" % n, None, "v1"), one(n + 1, b"l%d" % n, b"v", "v1")] for n in (0, 2, 4)]
    folder = write(tmp_path / "alpha-0", *segments, modified=[NOW - DAY, NOW - 1, NOW])
    for dirty_from, kept in ((2, [0, 1, 2, 3, 4, 5]), (4, [0, 1, 2, 3, 4, 5]), (6, [1, 2, 3, 4, 5])):
        target = tmp_path / str(dirty_from)
        options = Compaction(now=NOW, include_active=True, dirty_from=dirty_from)
        compact_partition(log.Partition(folder), target, options)
        assert offsets(list(log.Partition(target).batches())) == kept


def test_tombstone_flag_of_kip_87(tmp_path: Path) -> None:
    """In KIP-87, a value with the tombstone flag deletes its key, and a null value without the flag does not."""
    flagged = build([Record(0, OLD, b"a", b"why", tombstone=True)], "kip87")
    plain = build([Record(1, OLD, b"b", b"v", tombstone=False)], "kip87")
    segments = [[flagged], [plain]]
    folder = write(tmp_path / "alpha-0", *segments, modified=[OLD, NOW])
    report, compacted = compact(folder, format="kip87")
    assert (offsets(compacted), report.segments[0].removed) == ([1], {"expired_tombstone": 1})


def test_aborted_records_are_removed_and_replace_nothing(tmp_path: Path) -> None:
    batches = [txn(0, b"a"), marker(1, COMMIT), txn(2, b"a"), txn(3, b"b"), marker(4, ABORT), one(5, b"c", b"v")]
    report, compacted = compact(write(tmp_path / "alpha-0", batches))
    assert offsets(compacted) == [0, 1, 4, 5]
    assert [batch.delete_horizon_ms for batch in compacted] == [None, None, NOW + DAY, None]
    assert report.segments[0].removed == {"aborted": 2}


def test_marker_is_removed_after_its_transaction_and_horizon(tmp_path: Path) -> None:
    batches = [txn(0, b"a"), marker(1, COMMIT), one(2, b"a", b"w"), txn(3, b"b"), marker(4, COMMIT), one(5, b"c", b"v")]
    folder = write(tmp_path / "alpha-0", batches)
    _report, compacted = compact(folder)
    assert [(batch.base_offset, batch.delete_horizon_ms) for batch in compacted] == [
        *((1, NOW + DAY), (2, None), (3, None), (4, None), (5, None))
    ]
    compact_partition(
        log.Partition(folder.with_name("compacted-0")),
        tmp_path / "later",
        Compaction(now=NOW + DAY, include_active=True),
    )
    assert offsets(list(log.Partition(tmp_path / "later").batches())) == [2, 3, 4, 5]


def test_transactions_of_several_producers_side_by_side(tmp_path: Path) -> None:
    batches = [
        *(txn(0, b"a", producer=1), txn(1, b"b", producer=2), txn(2, b"c", producer=1)),
        *(marker(3, ABORT, producer=2), txn(4, b"d", producer=1), marker(5, COMMIT, producer=1)),
        *(txn(6, b"b", producer=2), marker(7, COMMIT, producer=2), one(8, b"e", b"v")),
    ]
    _, compacted = compact(write(tmp_path / "alpha-0", batches))
    assert offsets(compacted) == [0, 2, 3, 4, 5, 6, 7, 8]


def test_segments_after_the_start_of_an_open_transaction_are_kept(tmp_path: Path) -> None:
    segments = [
        [one(0, b"a", b"v"), one(1, b"a", b"w")],
        [one(2, b"a", b"x"), txn(3, b"b"), one(4, b"a", b"y"), one(5, b"a", b"z")],
    ]
    report, compacted = compact(write(tmp_path / "alpha-0", *segments))
    assert (offsets(compacted), report.compacted_to) == ([1, 2, 3, 4, 5], 2)
    assert report.because == "the segment there has an open transaction of producer 1"


@pytest.mark.parametrize(("age", "left"), [(DAY - 1, [(0, 3, 0)]), (DAY, [])])
def test_the_last_batch_of_an_active_producer_stays_empty(
    tmp_path: Path, age: int, left: list[tuple[int, int, int]]
) -> None:
    records = [Record(n, NOW - age, b"a", b"v") for n in range(4)]
    batch = build(records, "v2", producer_id=5, producer_epoch=2, base_sequence=17, compression="gzip")
    report, compacted = compact(write(tmp_path / "alpha-0", [batch, one(4, b"a", b"w")]))
    assert [(each.base_offset, each.last_offset, len(each)) for each in compacted[:-1]] == left
    assert report.segments[0].emptied == len(left)
    for each in compacted[:-1]:
        assert (each.producer_id, each.producer_epoch, each.base_sequence) == (5, 2, 17)
        assert (each.compression, each.base_timestamp, each.max_timestamp) == ("none", -1, NOW - age)


def test_the_marker_with_the_last_epoch_of_an_active_producer_stays_empty(tmp_path: Path) -> None:
    old = {"delete_horizon_ms": NOW - 1}
    folder = write(tmp_path / "alpha-0", [marker(0, ABORT, epoch=3, **old), one(1, b"a", b"v")])
    _, compacted = compact(folder, producer_expiration_ms=60 * DAY)
    assert [(batch.base_offset, batch.is_control, len(batch)) for batch in compacted] == [(0, True, 0), (1, False, 1)]
    assert compacted[0].producer_epoch == 3


def test_control_records_of_other_kinds_stay(tmp_path: Path) -> None:
    leader = build([Record(0, OLD, b"\0\0\0\2", b"\0\0")], "v2", is_control=True)
    report, compacted = compact(write(tmp_path / "alpha-0", [leader, one(1, b"a", b"v")]))
    assert (offsets(compacted), report.segments[0].kept) == ([0, 1], {"control": 1, "latest": 1})


def test_the_active_segment_is_left_alone(tmp_path: Path) -> None:
    segments = [[one(0, b"a", b"v"), one(1, b"b", b"v")], [one(2, b"a", b"w"), one(3, b"a", b"x")]]
    folder = write(tmp_path / "alpha-0", *segments, modified=[OLD, NOW])
    report, compacted = compact(folder, include_active=False)
    assert (offsets(compacted), report.compacted_to) == ([0, 1, 2, 3], 2)
    assert report.because == "the active segment begins there"
    all_of_it = folder.rename(make(tmp_path / "more") / folder.name)
    report, compacted = compact(all_of_it, include_active=True)
    assert (offsets(compacted), report.compacted_to) == ([1, 3], 4)


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_records_younger_than_the_lag_are_not_compacted(tmp_path: Path) -> None:
    segments = [[one(n, b"a", b"v"), one(n + 1, b"a", b"w")] for n in (0, 10, 20)]
    folder = write(tmp_path / "alpha-0", *segments)
    report, compacted = compact(folder, min_compaction_lag_ms=NOW - OLD - 11 + 1)
    assert (offsets(compacted), report.compacted_to) == ([1, 10, 11, 20, 21], 10)
    assert report.because == "the segment there is younger than the lag"


def test_the_last_offset_is_not_lost(tmp_path: Path) -> None:
    tombstone = one(1, b"b", None, delete_horizon_ms=NOW - 1)
    _, compacted = compact(write(tmp_path / "alpha-0", [one(0, b"a", b"v"), tombstone]))
    assert [(batch.last_offset, len(batch)) for batch in compacted] == [(0, 1), (1, 0)]


def test_in_formats_without_empty_batches_the_last_message_stays(tmp_path: Path) -> None:
    segments = [[one(0, b"a", None, "v1")], [one(1, b"a", None, "v1")]]
    folder = write(tmp_path / "alpha-0", *segments, modified=[OLD, OLD])
    report, compacted = compact(folder, delete_retention_ms=0)
    assert offsets(compacted) == [1]
    assert report.segments[1].kept == {"last_offset": 1}


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


def test_record_without_a_key_is_rejected_or_removed(tmp_path: Path) -> None:
    folder = write(tmp_path / "alpha-0", [one(0, b"a", b"v"), one(1, None, b"v"), one(2, b"b", b"v")])
    with pytest.raises(CompactionError, match=r"00000\.log: the record at offset 1 has no key.*`drop_keyless=True`"):
        compact(folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alpha-0"]
    report, compacted = compact(folder, drop_keyless=True)
    assert (offsets(compacted), report.segments[0].removed) == ([0, 2], {"no_key": 1})


def test_too_many_keys_are_rejected(tmp_path: Path) -> None:
    folder = write(tmp_path / "alpha-0", [one(n, b"k%d" % n, b"v") for n in range(9)])
    with pytest.raises(CompactionError, match=r"more than 8 keys up to offset 8; .*`max_keys`.*`dirty_from`"):
        compact(folder, max_keys=8)
    compact(folder, max_keys=9)


def test_damage_is_reported_with_its_position_and_nothing_is_left(tmp_path: Path) -> None:
    folder = write(tmp_path / "alpha-0", [one(n, b"k%d" % n, b"v") for n in range(9)])
    path = folder / segment_file(0, "log")
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    with pytest.raises(log.LogError, match=r"crc at byte 1\d\d") as caught:
        compact(folder)
    assert (caught.value.file, caught.value.rule) == (str(path), "TWL104")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alpha-0"]


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


def test_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    folder, there = (write(tmp_path / name, [one(0, b"a", b"v")]) for name in ("alpha-0", "beta-0"))
    with pytest.raises(log.LogPathError, match="already exists"):
        compact_partition(log.Partition(folder), there, Compaction(now=NOW))


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
