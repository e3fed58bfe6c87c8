"""Test each rule of log compaction on hand-made logs. Compacting a second time must change nothing.

test_kafka_compacts_alike.py tests that Kafka's own cleaner keeps the same records.
"""

from pathlib import Path

import pytest
from compacted_logs import ABORT, COMMIT, OLD, compact, marker, offsets, one, txn, write
from random_logs import DAY, NOW

from tagwire import log
from tagwire.log.compact import compact_partition
from tagwire.log.compaction import Compaction, CompactionError
from tagwire.records import Record, RecordBatch, build


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


def test_append_time_stays(tmp_path: Path) -> None:
    records = [Record(n, NOW, b"k%d" % (n % 2), b"v") for n in range(4)]
    batch = build(records, "v2", timestamp_type="append", append_time=NOW)
    _, (compacted,) = compact(write(tmp_path / "alpha-0", [batch]))
    assert (compacted.timestamp_type, compacted.max_timestamp, list(compacted)) == ("append", NOW, records[2:])


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
    (tmp_path / "more").mkdir()
    all_of_it = folder.rename(tmp_path / "more" / folder.name)
    report, compacted = compact(all_of_it, include_active=True)
    assert (offsets(compacted), report.compacted_to) == ([1, 3], 4)


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
