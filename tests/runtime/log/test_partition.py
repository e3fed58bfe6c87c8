from base64 import urlsafe_b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from log_rows import PARTITIONS
from small_logs import sealed, write_segment
from tiered_logs import TOPIC_ID, tiered

from tagwire import log
from tagwire.log.scan import Scan
from tagwire.log.verify import verify_partition
from tagwire.records import FormatError, Record, build

Truth = dict[str, list[dict[str, Any]]]
CopyOf = Callable[[str], Path]


def from_hex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


@pytest.mark.parametrize("name", PARTITIONS)
def test_as_kafka_reads_it(name: str, logs: Path, truth: Truth) -> None:
    batches = list(log.read(logs / name))
    assert len(batches) == len(truth[name])
    for batch, row in zip(batches, truth[name], strict=True):
        assert (batch.base_offset, batch.last_offset) == (row["batch"]["baseOffset"], row["batch"]["lastOffset"])
        for record, expected in zip(batch, row["records"], strict=True):
            assert (record.offset, record.timestamp) == (expected["offset"], expected["timestamp"])
            assert (record.key, record.value) == (from_hex(expected["key"]), from_hex(expected["value"]))


@pytest.mark.parametrize("name", PARTITIONS)
def test_from_every_offset_on(name: str, logs: Path, truth: Truth) -> None:
    ends = [(row["batch"]["baseOffset"], row["batch"]["lastOffset"]) for row in truth[name]]
    offsets = {0, *(last for _, last in ends[:: max(1, len(ends) // 10)]), ends[-1][1], ends[-1][1] + 1}
    for offset in sorted(offsets | {each + 1 for each in offsets}):
        found = [batch.base_offset for batch in log.read(logs / name, offset)]
        assert found == [base for base, last in ends if last >= offset], offset


@pytest.mark.parametrize("index", [b"", b"\0\0\0\x7f\0\0\x02\0", b"\0\0\0\x01\x7f\xff\xff\xff", b"half"])
def test_a_damaged_index_hides_nothing(index: bytes, copy_of: CopyOf) -> None:
    folder = copy_of("kafka28/alpha-upgrade2-0")
    (folder / "00000000000000000000.index").write_bytes(index)
    assert next(iter(log.read(folder, 200))).last_offset >= 200
    (folder / "00000000000000000000.index").unlink()
    assert next(iter(log.read(folder, 200))).last_offset >= 200


def test_single_segment(logs: Path, tmp_path: Path) -> None:
    segment = logs / "kafka28" / "alpha-m0-segs-0" / "00000000000000000091.log"
    batches = list(log.read(segment))
    assert batches[0].base_offset == 91 and log.Segment(segment).base_offset == 91
    other = tmp_path / "some bytes"
    other.write_bytes(segment.read_bytes())
    assert next(batch.base_offset for batch in log.read(other, 200)) <= 200
    assert log.Segment(other).base_offset is None and log.Segment(other).offset_index is None


def test_snapshots_of_metadata(logs: Path) -> None:
    (snapshot,) = log.Partition(logs / "kafka4" / "__cluster_metadata-0").metadata_snapshots
    kinds = [batch.is_control for batch in log.read(snapshot.path)]
    assert kinds[0] and kinds[-1] and not all(kinds)


@pytest.mark.parametrize("zeros", [1, 16, 17, 70_000])
def test_zeros_to_the_end_are_the_end(zeros: int, copy_of: CopyOf) -> None:
    folder = copy_of("kafka28/alpha-upgrade2-0")
    segment = folder / "00000000000000000000.log"
    count = len(list(log.read(folder)))
    segment.write_bytes(segment.read_bytes() + bytes(zeros))
    assert len(list(log.read(folder))) == count
    segment.write_bytes(segment.read_bytes() + b"\1")
    with pytest.raises(log.LogError):
        list(log.read(folder))


@pytest.mark.parametrize("zeros", [0, 1, 5000])
def test_an_incomplete_last_batch(zeros: int, tmp_path: Path) -> None:
    first, second = (build([Record(offset, 300, b"k", b"v")]).encode() for offset in (5, 6))
    path, skipped = write_segment(tmp_path / "t-0", base=5), list[object]()
    for left in range(8, len(second) - 1):
        path.write_bytes(first + second[:left] + bytes(zeros))
        for where, start in ((path, None), (path.parent, None), (path, 1 << 40), (path.parent, 1 << 40)):
            assert len(list(log.read(where, start, partial=True))) == (1 if start is None else 0)
            if zeros < 5000 or start is None:  # the checksum of a batch before the start offset is not verified
                with pytest.raises(log.LogError, match=r"0005.log: (log|v.): (crc at )?byte \d+: found ") as caught:
                    list(log.read(where, start))
                assert zeros or (caught.value.rule, caught.value.offset) == ("TWL101", len(first))
                assert caught.value.file == str(path)
        assert [batch.base_offset for batch in log.read(path, partial=True, skip=skipped.append)] == [5] and not skipped
        for level in ("record", "batch"):
            assert len(pa.table(log.columns(path, ["file"], level=level, partial=True))) == 1
    write_segment(path.parent, base=6)
    for read in (log.read, log.columns):
        with pytest.raises(log.LogError):  # only the last segment may end with an incomplete batch
            list(read(path.parent, partial=True))


@pytest.mark.parametrize(("at", "byte", "rest"), [(8, b"\x7f", True), (30, b"\x7f", True), (16, b"x", False)])
def test_damage_is_not_taken_for_an_incomplete_batch(at: int, byte: bytes, rest: bool, tmp_path: Path) -> None:
    first, bad, last = (build([Record(offset, 300, b"k", b"v")]).encode() for offset in (5, 6, 7))
    path, skipped = tmp_path / "00000000000000000005.log", list[object]()
    path.write_bytes(first + bad[:at] + byte + bad[at + 1 :] + (last if rest else b""))
    assert len(list(log.read(path, partial=True, skip=skipped.append))) == 1 + rest and len(skipped) == 1
    for read in (log.read, log.columns):
        with pytest.raises(log.LogError):
            list(read(path, partial=True))


@pytest.mark.parametrize(("number", "byte"), [(93, 0), (92, 1), (90, 2)])
def test_v3_checksum_that_looks_like_a_magic_byte(tmp_path: Path, number: int, byte: int) -> None:
    """A v3 batch must be read as v3, even if a byte of its checksum looks like the magic byte of an older format."""
    batches = []
    for base, count in ((0, 100), (100, 4), (104, 3)):
        records = [
            Record(offset, 1000 + offset - base, b"k", b"%d" % number * 50) for offset in range(base, base + count)
        ]
        batches.append(build(records, "v3").encode())
    assert batches[1][16] == byte
    path = write_segment(tmp_path / "o-0", *batches)
    assert [span.last_offset for span in Scan(str(path), path.read_bytes()).spans()] == [99, 103, 106]
    for offset in (100, 101, 102, 103, 104):
        assert [batch.base_offset for batch in log.read(path.parent, offset)] == [100, 104][offset > 103 :]
        found = [row for each in log.columns(path.parent, ["offset"], start_offset=offset) for row in offsets_of(each)]
        assert found == list(range(offset, 107))


def offsets_of(columns: Any) -> list[int]:
    rows: list[int] = pa.record_batch(columns).column(0).to_pylist()
    return rows


def rename(folder: Path, offset: int, state: str) -> None:
    for path in folder.glob(f"{offset:020}.*"):
        if path.suffix != ".snapshot":
            path.rename(f"{path}.{state}")


def bases(folder: Path) -> list[int | None]:
    return [segment.base_offset for segment in log.Partition(folder).segments]


def test_deleted_and_cleaned_segments_do_not_count(copy_of: CopyOf) -> None:
    folder = copy_of("kafka28/alpha-m0-segs-0")
    assert bases(folder) == [0, 91, 251, 381] and log.Partition(folder).leftovers == ()
    rename(folder, 0, "deleted")
    rename(folder, 381, "cleaned")
    assert bases(folder) == [91, 251] and len(log.Partition(folder).leftovers) == 6
    assert next(log.read(folder / "00000000000000000000.log.deleted")).base_offset == 0


def test_swapped_segment_replaces_its_sources(copy_of: CopyOf) -> None:
    folder = copy_of("kafka28/alpha-m0-segs-0")
    whole = b"".join((folder / f"{base:020}.log").read_bytes() for base in (0, 91))
    swap = folder / "00000000000000000000.log.swap"
    swap.write_bytes(whole)
    offsets = [record.offset for batch in log.read(folder) for record in batch]
    assert bases(folder) == [0, 251, 381] and offsets == list(range(400))
    assert {path.name for path in log.Partition(folder).leftovers} >= {f"{base:020}.log" for base in (0, 91)}
    swap.write_bytes(whole[:16] + b"x" + whole[17:])
    rules = {problem.rule for report in verify_partition(log.Partition(folder)) for problem in report.problems}
    assert "TWL103" in rules and bases(folder) == [0, 251, 381]
    (folder / "00000000000000000000.log.cleaned").touch()
    assert bases(folder) == [0, 91, 251, 381]


def test_segments_in_tiered_storage(copy_of: CopyOf) -> None:
    """In tiered storage, file names contain the ID of a copy. Of two copies of a segment, the longer must be read."""
    folder = copy_of("kafka28/alpha-m0-segs-0")
    offsets = [record.offset for batch in log.read(folder) for record in batch]
    for path in folder.iterdir():
        if path.name.startswith("0" * 10):
            path.rename(folder / f"{path.name.partition('.')[0]}-u7nQ6ZwPTuyz3Aqdmha0Tw{path.suffix}")
    (folder / f"{91:020}-_BROKEN_OFF_COPY_-aAzZ.log").write_bytes(b"")
    assert bases(folder) == [0, 91, 251, 381]
    assert [record.offset for batch in log.read(folder) for record in batch] == offsets
    assert all(segment.offset_index is not None for segment in log.Partition(folder).segments)


@pytest.mark.parametrize("name", ["kafka4/alpha-txn-many-0", "kafka28/alpha-m0-segs-0"])
def test_a_partition_of_local_tiered_storage(logs: Path, tmp_path: Path, name: str) -> None:
    """Read a folder whose name contains the topic ID, and in which each segment has its own producer snapshot."""
    source = log.Partition(logs / name)
    partition = log.Partition(tiered(source.path, tmp_path))
    assert (partition.topic, partition.partition) == (source.topic, source.partition)
    assert partition.topic_id == UUID(bytes=urlsafe_b64decode(f"{TOPIC_ID}=="))
    assert partition.leader_epochs == source.leader_epochs
    records = [[record for batch in log.read(each.path) for record in batch] for each in (partition, source)]
    assert records[0] == records[1] != []
    bases = [segment.base_offset for segment in source.segments]
    assert [segment.base_offset for segment in partition.segments] == bases
    assert all(segment.offset_index is not None for segment in partition.segments)
    known = {offset: entries for offset, entries in source.producer_snapshots.items() if offset in bases}
    assert partition.producer_snapshots == known
    for path in (tmp_path, str(tmp_path)):
        assert [each.path for each in log.find_partitions(path)] == [partition.path]
    assert all(not report.problems for report in verify_partition(partition))


def test_folders_that_are_not_logs(logs: Path, tmp_path: Path) -> None:
    for path, sentence in (
        (tmp_path / "missing", "there is no such file"),
        (tmp_path, "no log segment found"),
        (logs / "kafka4", "no log segment found"),
    ):
        with pytest.raises(log.LogPathError, match=sentence):
            log.read(path)
    with pytest.raises(log.LogPathError, match="there is no such folder"):
        log.LogDirectory(tmp_path / "missing")
    with pytest.raises(log.LogPathError, match="can't be read"):
        log.Partition(tmp_path / "missing")
    with pytest.raises(FormatError, match="no record format"):
        log.read(logs / "kafka4" / "alpha-empty-0", format="v22")


def found_below(path: Path) -> list[str]:
    return [each.path.relative_to(path).as_posix() for each in log.find_partitions(path)]


def test_a_folder_of_logs_may_have_the_name_of_a_partition(tmp_path: Path) -> None:
    names = ["data-0/kafka-log0/orders-0", "empty-7", "kafka-logs-1/orders-0", "kafka-logs-1/orders-1"]
    for name in names:
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "empty-7" / ".snapshot").mkdir()
    assert found_below(tmp_path) == names
    assert found_below(tmp_path / "data-0") == ["kafka-log0/orders-0"]
    assert len(log.LogDirectory(tmp_path / "kafka-logs-1").partitions) == 2


def test_links_between_folders_find_nothing_twice(tmp_path: Path) -> None:
    for name in ("kafka/orders-0", "kafka/disk/orders-1", "other/orders-2"):
        (tmp_path / name).mkdir(parents=True)
    root = tmp_path / "kafka"
    links = {"again": root / "disk", "current": root, "up": tmp_path, "out": tmp_path / "other"}
    try:
        for name, target in links.items():
            (root / name).symlink_to(target)
        (tmp_path / "other" / "itself").symlink_to(tmp_path / "other")
    except OSError:
        pytest.skip("this system makes no links")
    assert found_below(root) == ["disk/orders-1", "orders-0", "out/orders-2"]
    (tmp_path / "link").symlink_to(root)
    assert found_below(tmp_path / "link") == ["disk/orders-1", "orders-0", "out/orders-2"]
    (root / "loop").symlink_to("loop")
    with pytest.raises(log.LogPathError, match=r"kafka.loop can't be read: .*; it is a link to loop: restore its"):
        found_below(root)


def test_a_folder_of_logs(logs: Path) -> None:
    folder = log.LogDirectory(logs / "kafka4")
    names = [(each.topic, each.partition) for each in folder.partitions]
    assert names == sorted(names, key=lambda name: f"{name[0]}-{name[1]}") and ("alpha-delrec", 0) in names
    assert folder.broker["node.id"] == "1" and folder.was_stopped_cleanly
    assert folder.log_start_offsets["alpha-delrec", 0] == 77  # type: ignore[index]
    assert folder.recovery_points and folder.high_watermarks and folder.cleaner_offsets
    old = log.LogDirectory(logs / "kafka0.8")
    assert old.broker == {} and old.log_start_offsets == {}
    assert len(list(log.find_partitions(logs))) == 17
    empty = log.Partition(folder.path / "alpha-empty-0")
    assert list(empty.batches()) == list(log.read(empty.path)) == [] and empty.segments[0].end_offset() is None


def test_files_next_to_segments(logs: Path) -> None:
    partition = log.Partition(logs / "kafka4" / "alpha-txn-many-0")
    segment = partition.segments[1]
    assert segment.offset_index is not None and segment.time_index is not None
    assert next(iter(segment.offset_index)).offset > 14 and len(segment.time_index[0:2]) == 2
    assert segment.time_index.offset(segment.time_index[0].timestamp) == segment.base_offset
    assert segment.time_index.offset(segment.time_index[0].timestamp + 1) == segment.time_index[0].offset
    assert len(segment.aborted_transactions) == 10
    assert partition.leader_epochs[0] == (0, 0) and partition.topic_id is not None
    (entry,) = partition.producer_snapshots[14]
    assert entry.last_offset < 14 and entry.producer_id > 0


def test_position_of_an_invalid_record(tmp_path: Path) -> None:
    whole = build([Record(0, 300, b"k", b"v")], "v2").encode()
    batch = bytearray(build([Record(1, 300, b"k", b"v")], "v2").encode())
    batch[61] = 0x70  # overwrites the record's length
    path = write_segment(tmp_path, whole, sealed(batch))
    for read in (log.read(path), log.read(tmp_path), log.Segment(path).batches()):
        first, second = read
        assert len(list(first)) == 1 and list(first) == list(first)
        with pytest.raises(log.LogError) as caught:
            list(second)
        assert (caught.value.file, caught.value.rule) == (str(path), "TWL106")
        assert len(whole) + 61 <= caught.value.offset <= len(whole) + 62
        assert caught.value.path.startswith("records")
    batch[57:61] = (1 << 30).to_bytes(4, "big")
    path.write_bytes(whole + sealed(batch))
    *_, second = log.read(path)
    with pytest.raises(log.LogError) as caught:
        len(second)
    assert caught.value.offset >= len(whole)
