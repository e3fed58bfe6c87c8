from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_logs import write_segment

from tagwire import log
from tagwire.errors import EncodeError, TagwireError
from tagwire.limits import Limits
from tagwire.log.convert import Conversion, ConvertReport, convert_partition, copy_directory_files
from tagwire.log.rebatching import BatchSize, rebatched
from tagwire.log.scan import LogBatch
from tagwire.log.verify import verify_partition
from tagwire.records import Record, build

CopyOf = Callable[[str], Path]
TXN = "kafka4/alpha-txn-many-0"
UPGRADE = "kafka28/alpha-upgrade2-0"
SEGS = "kafka28/alpha-m0-segs-0"
EMPTIED = "kafka4/alpha-compact-txn-0"
ANY = Limits(decompression_ratio=1 << 20)
"""Limits that allow a high decompression ratio. With zstd, some of these repetitive logs exceed the default limit."""


def converted(source: Path, target: Path, conversion: Conversion) -> list[ConvertReport]:
    return convert_partition(log.Partition(source), target, conversion)


def records(folder: Path, format: str = "auto") -> list[Record]:
    batches = log.Partition(folder).batches(None, format, ANY)
    return [record for batch in batches if not batch.is_control for record in batch]


def problems(folder: Path, format: str = "auto") -> list[Any]:
    return [each for report in verify_partition(log.Partition(folder), format, ANY) for each in report.problems]


@pytest.mark.slow
@pytest.mark.parametrize(
    "conversion",
    [
        Conversion("v3"),
        Conversion("v2", "zstd", BatchSize(bytes=16384)),
        Conversion("v2", "gzip", BatchSize(records=2)),
        Conversion(None, "lz4"),
        Conversion(None, None, BatchSize(bytes=300, records=5)),
    ],
    ids=lambda each: f"{each.to and each.to.name}-{each.codec}-{each.size}",
)
def test_records_and_markers_stay(logs: Path, tmp_path: Path, conversion: Conversion) -> None:
    seen = 0
    for partition in log.find_partitions(logs):
        target = tmp_path / partition.path.parent.name / partition.path.name
        reports = convert_partition(partition, target, conversion)
        assert [len(report.losses) for report in reports] == [0] * len(reports)
        assert problems(target) == []
        assert records(target) == records(partition.path)
        markers = [(b.base_offset, b.producer_id, list(b)) for b in partition.batches() if b.is_control]
        assert [
            (b.base_offset, b.producer_id, list(b))
            for b in log.Partition(target).batches(None, "auto", ANY)
            if b.is_control
        ] == markers
        assert [len(segment.aborted_transactions) for segment in log.Partition(target).segments] == [
            len(segment.aborted_transactions) for segment in partition.segments
        ]
        seen += sum(report.records for report in reports)
    assert seen > 2000


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize(("format", "to"), [("v2", None), ("v2", "v1"), ("v1", None), ("v1", "v2"), ("v3", "v2")])
def test_new_batch_sizes_keep_original_timestamps_under_append_time(
    format: str, to: str | None, codec: str, tmp_path: Path
) -> None:
    """Original timestamps must be kept, or reported as losses if the new batch can't store them.

    An uncompressed v1 batch can't store them: with append times, its only timestamp is the append time.
    """
    sent = [Record(offset, 300 + offset, b"k", b"v") for offset in range(7)]
    batch = build(sent, format, compression=codec, timestamp_type="append", append_time=999)
    write_segment(tmp_path / "t-0", batch)
    (report,) = converted(tmp_path / "t-0", tmp_path / "to", Conversion(to, None, BatchSize(records=3), format))
    batches = list(log.Partition(tmp_path / "to").batches(None, to or format))
    assert {record.timestamp for batch in batches for record in batch} == {999}
    has_room = codec == "gzip" or "v1" not in (format, to)
    assert {record.timestamp for batch in batches for record in batch.stored()} == (
        {record.timestamp for record in sent} if has_room else {999}
    )
    assert [row.times for row in report.losses.rows()] == ([] if has_room or format == "v1" else [7])


def test_batches_in_the_target_format_are_not_changed(logs: Path, tmp_path: Path) -> None:
    converted(logs / TXN, tmp_path / "to", Conversion("v2"))
    assert len(list((tmp_path / "to").iterdir())) == len(list((logs / TXN).iterdir()))
    for path in (logs / TXN).iterdir():
        if path.suffix not in (".index", ".timeindex"):  # the broker's indexes have another interval
            assert (tmp_path / "to" / path.name).read_bytes() == path.read_bytes(), path.name


def test_converting_back_gives_the_same_bytes(logs: Path, tmp_path: Path) -> None:
    converted(logs / EMPTIED, tmp_path / "v3", Conversion("v3"))
    converted(tmp_path / "v3", tmp_path / "v2", Conversion("v2"))
    for segment in log.Partition(logs / EMPTIED).segments:
        assert (tmp_path / "v2" / segment.path.name).read_bytes() == segment.path.read_bytes()


def test_upgraded_logs_have_one_format_and_indexes(logs: Path, tmp_path: Path) -> None:
    [report] = converted(logs / UPGRADE, tmp_path / "to", Conversion("v2", None, BatchSize(bytes=1000)))
    batches = list(log.read(tmp_path / "to"))
    assert {batch.format for batch in batches} == {"v2"}
    assert (report.batches, report.records, report.bytes) == (50, 240, 7948)
    assert (report.new_batches, report.new_bytes) == (len(batches), sum(batch.size for batch in batches))
    assert len(log.Partition(tmp_path / "to").segments[0].offset_index or ()) > 0


def test_losses_of_producers_and_markers_in_old_formats(logs: Path, tmp_path: Path) -> None:
    reports = converted(logs / TXN, tmp_path / "to", Conversion("v1"))
    rows = {row.path: row for report in reports for row in report.losses.rows()}
    assert {"producer_id", "producer_epoch", "base_sequence", "is_transactional", "records"} <= rows.keys()
    assert "that format has no transaction markers" in rows["records"].reason
    markers = sum(batch.is_control for batch in log.read(logs / TXN))
    assert sum(report.left_out for report in reports) == markers > 0
    assert [r.replace(headers=()) for r in records(logs / TXN)] == records(tmp_path / "to")
    assert problems(tmp_path / "to") == []
    assert not list((tmp_path / "to").glob("*.snapshot"))
    assert not list((tmp_path / "to").glob("*.txnindex"))


def test_losses_are_counted_by_field(tmp_path: Path) -> None:
    batches = [build([Record(n, 5, b"k", b"v", (("h", b"1"), ("i", b"2")))], "v2") for n in range(3)]
    path = write_segment(tmp_path / "topic-0", *batches)
    [report] = converted(path.parent, tmp_path / "to", Conversion("v1"))
    [row] = report.losses.rows()
    assert (row.path, row.times, row.position) == ("records[].headers[]", 6, 0)
    assert row.file.endswith("topic-0/00000000000000000000.log") and row.value == "'h': 1 byte 31"


def two(change: dict[str, Any], first: dict[str, Any] | None = None) -> list[LogBatch]:
    usual: dict[str, Any] = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 10, "is_transactional": True}
    usual |= {"partition_leader_epoch": 3} | (first or {})
    one = build([Record(0, 50, b"a", b"1"), Record(1, 51, b"b", b"2")], "v2", **usual)
    after = {**usual, "base_sequence": 12 if usual["base_sequence"] >= 0 else -1} | change
    other = build([Record(2, 60, b"c", b"3"), Record(3, 61, b"d", b"4")], "v2", **after)
    return [LogBatch(one, "0.log", 0), LogBatch(other, "0.log", one.size)]


@pytest.mark.parametrize(("change", "batches"), [
    ({}, 1), ({"producer_id": 8}, 2), ({"producer_epoch": 2}, 2), ({"base_sequence": 13}, 2),
    ({"is_transactional": False}, 2), ({"partition_leader_epoch": 4}, 2), ({"is_control": True}, 2),
    ({"delete_horizon_ms": 40}, 2), ({"timestamp_type": "append", "append_time": 60}, 2),
    ({"compression": "gzip"}, 2), ({"base_offset": 2, "last_offset": 1 << 31}, 2),
], ids=str)  # fmt: skip
def test_only_records_with_equal_properties_share_a_batch(change: dict[str, Any], batches: int) -> None:
    assert len(list(rebatched(two(change), BatchSize(records=100)))) == batches


def test_gathered_records_keep_their_sequence_numbers() -> None:
    top = 0x7FFFFFFF
    [piece] = rebatched(two({"base_sequence": 0}, {"base_sequence": top - 1}), BatchSize(bytes=1000))
    batch = piece.batch
    assert (batch.base_sequence, batch.base_offset, batch.last_offset, len(batch)) == (top - 1, 0, 3, 4)
    assert (batch.producer_id, batch.producer_epoch, batch.is_transactional, batch.max_timestamp) == (7, 1, True, 61)
    assert (piece.source_batches, piece.source_bytes) == (2, sum(each.size for each in two({})))


def test_each_batch_is_counted(logs: Path) -> None:
    partition = log.Partition(logs / TXN)  # this log also has control batches, which are not regrouped
    batches = [batch for segment in partition.segments for batch in segment.batches()]
    assert any(batch.is_control for batch in batches)
    assert sum(piece.source_batches for piece in rebatched(batches, BatchSize(records=100))) == len(batches)


def test_batch_is_split() -> None:
    offsets = (100, 101, 105, 106, 109)  # the batch header says that the batch covers offsets 98 to 111
    numbers: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0x7FFFFFFF - 3}
    source = build([Record(n, n, b"k", b"v") for n in offsets], "v2", base_offset=98, last_offset=111, **numbers)
    batches = [piece.batch for piece in rebatched([LogBatch(source, "0.log", 0)], BatchSize(records=2))]
    found = [(b.base_offset, b.last_offset, b.base_sequence, [r.offset for r in b]) for b in batches]
    assert found == [(98, 104, 0x7FFFFFFF - 3, [100, 101]), (105, 108, 3, [105, 106]), (109, 111, 7, [109])]


@pytest.mark.parametrize("most", [70, 100, 150, 1000])
def test_batches_are_filled_to_their_limit(most: int) -> None:
    records = [Record(n, 1000 * n, b"k" * n, b"v" * n, (("h", None),) * (n % 3)) for n in range(30)]
    batches = [each.batch for each in rebatched([LogBatch(build(records, "v2"), "0.log", 0)], BatchSize(bytes=most))]
    for batch, following in zip(batches, (*batches[1:], None), strict=True):
        assert batch.size <= most or len(batch) == 1
        if following is not None:
            assert build([*batch, next(iter(following))], "v2").size > most


def test_files_next_to_segments(copy_of: CopyOf, tmp_path: Path) -> None:
    source = copy_of(TXN)
    (source / f"{0:020}.log.deleted").write_bytes(b"gone")
    names = {path.name for path in source.iterdir()} - {f"{0:020}.log.deleted"}
    converted(source, tmp_path / "one", Conversion("v3"))
    assert {path.name for path in (tmp_path / "one").iterdir()} == names
    converted(source, tmp_path / "other", Conversion("v2", None, BatchSize(records=1)))
    assert {path.name for path in (tmp_path / "other").iterdir()} == {n for n in names if not n.endswith("snapshot")}


def test_the_metadata_log_keeps_its_snapshot(logs: Path, tmp_path: Path) -> None:
    source = logs / "kafka4" / "__cluster_metadata-0"
    converted(source, tmp_path / "to", Conversion("v2", None, BatchSize(records=3)))
    for pattern in ("*.checkpoint", "quorum-state", "leader-epoch-checkpoint", "partition.metadata"):
        [path] = source.glob(pattern)
        assert (tmp_path / "to" / path.name).read_bytes() == path.read_bytes()


def test_the_broker_s_own_files(logs: Path, tmp_path: Path) -> None:
    files = {path.name for path in (logs / "kafka4").iterdir() if path.is_file()}
    copy_directory_files([(logs / "kafka4", tmp_path / "same")], keeps_producers=True)
    assert {path.name for path in (tmp_path / "same").iterdir()} == files
    assert ".kafka_cleanshutdown" in files
    copy_directory_files([(logs / "kafka4", tmp_path / "less")], keeps_producers=False)
    assert {path.name for path in (tmp_path / "less").iterdir()} == files - {".kafka_cleanshutdown"}


def disk(folder: Path, partition: int, *, entries: str, clean: bool = True) -> Path:
    """Create a broker's log folder with one partition. `entries` are the lines of its log start offset checkpoint."""
    write_segment(folder / f"t-{partition}", build([Record(0, 5, None, b"v")], "v2"))
    lines = entries.split(", ") if entries else []
    (folder / "log-start-offset-checkpoint").write_text("\n".join(["0", str(len(lines)), *lines, ""]))
    (folder / "meta.properties").write_text(f"directory.id={folder.name}\n")
    if clean:
        (folder / ".kafka_cleanshutdown").write_text("{}")
    return folder


def joined(to: Path, *groups: list[Path]) -> Path:
    """Copy the directory files of all disks to one folder, with a separate call for each group of disks."""
    for group in groups:
        for folder in group:
            for each in log.find_partitions(folder):
                (to / each.path.name).mkdir(parents=True, exist_ok=True)
        copy_directory_files([(folder, to) for folder in group], keeps_producers=True)
    return to


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("t 0 3", "t 1 4", ["t 0 3", "t 1 4"]),
        # each checkpoint has an outdated entry (t 1 9, t 0 8) for a partition that is now on the other disk
        ("t 0 3, t 1 9", "t 0 8, t 1 4", ["t 0 3", "t 1 4"]),
        ("", "t 1 4, gone 7 2", ["t 1 4", "gone 7 2"]),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_several_disks_of_a_broker(tmp_path: Path, one: str, other: str, expected: list[str], at_once: bool) -> None:
    disks = [disk(tmp_path / "d2", 0, entries=one), disk(tmp_path / "d1", 1, entries=other)]
    to = joined(tmp_path / "to", *([disks] if at_once else [disks[:1], disks]))
    assert (to / "log-start-offset-checkpoint").read_text().split("\n") == ["0", str(len(expected)), *expected, ""]
    assert (to / "meta.properties").read_text() == "directory.id=d2\n"
    assert (to / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize(("one", "other"), [(True, False), (False, True), (False, False)])
@pytest.mark.parametrize("at_once", [True, False])
def test_clean_shutdown_marker_requires_all_disks(tmp_path: Path, one: bool, other: bool, at_once: bool) -> None:
    disks = [disk(tmp_path / "d1", 0, entries="", clean=one), disk(tmp_path / "d2", 1, entries="", clean=other)]
    to = joined(tmp_path / "to", *([disks] if at_once else [disks[:1], disks[1:]]))
    assert not (to / ".kafka_cleanshutdown").exists()


def test_checkpoints_that_can_not_be_joined(tmp_path: Path) -> None:
    disks = [disk(tmp_path / "d1", 0, entries="t 0 3"), disk(tmp_path / "d2", 1, entries="t 1 x")]
    with pytest.raises(log.LogError, match=r"d2.log-start-offset-checkpoint.*a number"):
        copy_directory_files([(each, tmp_path / "to") for each in disks], keeps_producers=True)


def test_a_segment_that_outgrows_its_indexes_is_continued(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagwire.log.convert._SEGMENT_BYTES", 2000)
    [report] = converted(logs / UPGRADE, tmp_path / "to", Conversion("v2"))
    segments = log.Partition(tmp_path / "to").segments
    assert len(segments) > 3 and all(segment.size <= 2000 for segment in segments)
    assert sum(segment.size for segment in segments) == report.new_bytes
    assert problems(tmp_path / "to") == []
    assert records(tmp_path / "to") == records(logs / UPGRADE)


def test_interrupted_conversion_leaves_no_folder(logs: Path, tmp_path: Path) -> None:
    counts: list[int] = []

    def interrupt(count: int) -> None:
        counts.append(count)
        if len(counts) == 3:
            assert list((tmp_path / "to").glob(".topic-0.*.partial/*.log"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert_partition(log.Partition(logs / SEGS), tmp_path / "to" / "topic-0", Conversion("v2"), interrupt)
    assert not (tmp_path / "to").exists()


def test_nothing_is_overwritten(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "missing")
    for target in (tmp_path / "to", tmp_path / "link"):
        with pytest.raises(log.LogPathError, match=f"{target} already exists"):
            converted(logs / SEGS, target, Conversion("v2"))


@pytest.mark.parametrize(
    ("to", "codec", "message"),
    [
        ("v1", "zstd", "unknown codec 'zstd' in v1; known codecs are none, gzip, snappy, lz4"),
        (None, "brotli", "unknown codec 'brotli' in any format"),
        ("v9", None, "there is no record format 'v9'"),
    ],
)
def test_unknown_values_are_rejected(to: str | None, codec: str | None, message: str) -> None:
    with pytest.raises(TagwireError, match=message):
        Conversion(to, codec)


def test_rejected_records_have_a_position(tmp_path: Path) -> None:
    # The difference between these timestamps does not fit in a varlong.
    wide = build([Record(0, 1 << 62, b"k", b"v"), Record(1, -(1 << 62) - 5, b"k", b"v")], "v1")
    folder = write_segment(tmp_path / "topic-0", wide).parent
    with pytest.raises(EncodeError, match=r"in the batch at byte 0 of .*topic-0"):
        converted(folder, tmp_path / "to", Conversion("v2", None, BatchSize(records=2)))
