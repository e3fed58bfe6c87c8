from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mixed_logs import MIXTURES, Mixture, batches_of, log_of
from small_logs import write_segment

from tagwire import engine, log
from tagwire.log import column_stream
from tagwire.log.compact import compact_partition
from tagwire.log.compaction import Compaction
from tagwire.log.convert import Conversion, convert_partition
from tagwire.log.rebatching import BatchSize
from tagwire.log.salvage import salvage
from tagwire.log.stat import stat
from tagwire.log.verify import verify_partition
from tagwire.records import BatchBuilder, FormatSet, Record, RecordBatch, build, format_of, read_batches

pytestmark = pytest.mark.thorough

pa: Any = pytest.importorskip("pyarrow")

SOME = [each for each in MIXTURES if len(each.older) == 2]
NOW = 10**13
each_mixture = pytest.mark.parametrize("mixture", MIXTURES, ids=str)
with_codecs = pytest.mark.parametrize(
    ("mixture", "codec"), [*((each, "none") for each in MIXTURES), *((each, "gzip") for each in SOME)], ids=str
)
some_mixtures = pytest.mark.parametrize("mixture", SOME, ids=str)


def records_of(folder: Path, format: Any) -> list[tuple[str, Record]]:
    return [(batch.format, record) for batch in log.read(folder, format=format) for record in batch]


@with_codecs
def test_reading(tmp_path: Path, mixture: Mixture, codec: str) -> None:
    expected = log_of(tmp_path / "t-0", mixture, codec)
    assert records_of(tmp_path / "t-0", mixture.named) == expected
    partition = log.Partition(tmp_path / "t-0")
    assert partition.segments[-1].end_offset(mixture.named) == len(expected)
    for offset in range(0, len(expected), 3):
        first = next(log.read(tmp_path / "t-0", offset, mixture.named))
        assert first.base_offset <= offset <= first.last_offset
    data = b"".join(segment.path.read_bytes() for segment in partition.segments)
    cut = [record for batch in read_batches(data[:-5], mixture.named, partial=True) for record in batch]
    assert cut == [record for _, record in expected[: len(cut)]] and len(cut) >= len(expected) - 4


@each_mixture
def test_verification_finds_no_problems_and_counts_all_records(tmp_path: Path, mixture: Mixture) -> None:
    expected = log_of(tmp_path / "t-0", mixture)
    partition = log.Partition(tmp_path / "t-0")
    reports = list(verify_partition(partition, mixture.named))
    assert [report.problems for report in reports] == [[], []]
    assert sum(report.records for report in reports) == len(expected)
    assert [report.lost_bytes for report in salvage(partition, tmp_path / "saved", mixture.named)] == [0, 0]
    assert records_of(tmp_path / "saved" / "t-0", mixture.named) == expected
    assert set(stat(partition.segments[0], mixture.named).formats) == set(mixture.formats)


@some_mixtures
def test_damage_affects_only_its_own_batch(tmp_path: Path, mixture: Mixture) -> None:
    batches = batches_of(mixture.formats, "gzip")
    for number, (_, records, data) in enumerate(batches):
        parts = [each for _, _, each in batches]
        parts[number] = data[:-9] + bytes(byte ^ 0x55 for byte in data[-9:])
        folder = write_segment(tmp_path / "t-0", *parts).parent
        [report] = salvage(log.Partition(folder), tmp_path / f"saved {number}", mixture.named)
        assert report.lost_bytes == len(data)
        saved = [record for _, record in records_of(tmp_path / f"saved {number}" / "t-0", mixture.named)]
        assert saved == [record for _, each, _ in batches for record in each if each is not records]


@with_codecs
def test_native_columns_equal_rows_of_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mixture: Mixture, codec: str
) -> None:
    expected = log_of(tmp_path / "t-0", mixture, codec)

    def rows(level: str) -> Any:
        return pa.table(log.columns(tmp_path / "t-0", format=mixture.named, level=level)).to_pylist()

    found = rows("record"), rows("batch")
    assert [
        (row["format"], row["offset"], row["key"], row["value"], row["tombstone"], header_pairs(row))
        for row in found[0]
    ] == [(name, r.offset, r.key, r.value, r.is_tombstone, list(r.headers)) for name, r in expected]
    if engine() == "native":
        monkeypatch.setattr(column_stream, "engine", lambda: "python")
        assert (rows("record"), rows("batch")) == found


def header_pairs(row: dict[str, Any]) -> list[tuple[Any, Any]]:
    return [(header["key"], header["value"]) for header in row["headers"]]


def test_only_ambiguous_batches_fall_back_on_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine() != "native":
        pytest.skip("there is no native engine")
    left: list[int] = []
    by_objects = column_stream.Pass.in_python

    def counted(call: Any, *given: Any, **more: Any) -> Any:
        left.append(1)
        return by_objects(call, *given, **more)

    monkeypatch.setattr(column_stream.Pass, "in_python", counted)
    for number, mixture in enumerate(MIXTURES):
        log_of(tmp_path / f"{number}" / "t-0", mixture, "gzip")
        for _ in log.columns(tmp_path / f"{number}" / "t-0", format=mixture.named):
            pass
    assert len(left) <= 2


def test_header_keys_of_two_types_are_text(tmp_path: Path) -> None:
    path = write_segment(
        tmp_path / "t-0",
        build([Record(0, 5, b"k", b"v", ((7, b"h"),))], "kip82-int"),
        build([Record(1, 5, b"k", b"v", (("h", None),))], "v3"),
    )
    rows = pa.table(log.columns(path.parent, format="kip82-int,v3")).to_pylist()
    assert [header_pairs(row) for row in rows] == [[("7", b"h")], [("h", None)]]


@pytest.mark.parametrize("to", ["v0", "v1", "v2", "v3", "named"])
@some_mixtures
def test_converting_up_and_down(tmp_path: Path, mixture: Mixture, to: str) -> None:
    expected = log_of(tmp_path / "t-0", mixture)
    target = mixture.named if to == "named" else to
    for number, size in enumerate((None, BatchSize(records=3))):
        folder = tmp_path / f"{number}"
        reports = convert_partition(
            log.Partition(tmp_path / "t-0"), folder, Conversion(target, None, size, mixture.named)
        )
        got = records_of(folder, FormatSet(target, only=True))
        assert [(name, r.offset, r.key) for name, r in got] == [(target, r.offset, r.key) for _, r in expected]
        kept = format_of(target).has
        for (_, one), (_, other) in zip(got, expected, strict=True):
            assert other.is_tombstone == one.is_tombstone
            assert one.value == other.value or (other.is_tombstone and "is_tombstone" not in kept)
        assert not any(row.reason.startswith("rejected") for report in reports for row in report.losses.rows())


@each_mixture
def test_batches_of_another_size_keep_their_format(tmp_path: Path, mixture: Mixture) -> None:
    expected = log_of(tmp_path / "t-0", mixture)
    conversion = Conversion(None, None, BatchSize(records=3), mixture.named)
    convert_partition(log.Partition(tmp_path / "t-0"), tmp_path / "out", conversion)
    assert records_of(tmp_path / "out", mixture.named) == expected


@with_codecs
def test_last_record_of_each_key_is_kept_and_old_tombstones_are_removed(
    tmp_path: Path, mixture: Mixture, codec: str
) -> None:
    expected = log_of(tmp_path / "t-0", mixture, codec)
    last = {record.key: record.offset for _, record in expected}
    kept = [(name, record) for name, record in expected if last[record.key] == record.offset]
    options = Compaction(now=NOW, include_active=True, format=mixture.named)
    compact_partition(log.Partition(tmp_path / "t-0"), tmp_path / "kept", options)
    assert records_of(tmp_path / "kept", mixture.named) == kept
    options = Compaction(now=NOW, delete_retention_ms=0, include_active=True, format=mixture.named)
    compact_partition(log.Partition(tmp_path / "t-0"), tmp_path / "gone", options)
    left = records_of(tmp_path / "gone", mixture.named)
    end = expected[-1][1].offset
    assert [each for each in left if each[1].offset != end] == [
        (name, record) for name, record in kept if not record.is_tombstone and record.offset != end
    ]


def test_deletes_in_each_format(tmp_path: Path) -> None:
    """In v0 and v1, null values delete keys. In kip87, only tombstone flags do."""
    batches = [
        build([Record(0, -1, b"a", None)], "v0"),
        build([Record(1, 5, b"b", None)], "v1"),
        copied([Record(2, 5, b"c", None, tombstone=False), Record(3, 5, b"d", b"why", tombstone=True)], "kip87"),
        build([Record(4, 5, b"e", b"end")], "v1"),
    ]
    folder = write_segment(tmp_path / "t-0", *batches).parent
    options = Compaction(now=NOW, delete_retention_ms=0, include_active=True, format="kip87")
    report = compact_partition(log.Partition(folder), tmp_path / "out", options)
    assert [record.key for _, record in records_of(tmp_path / "out", "kip87")] == [b"c", b"e"]
    assert report.segments[0].kept == {"latest": 1, "no_flag": 1}
    assert report.segments[0].removed == {"expired_tombstone": 3}


def copied(records: list[Record], format: str, **batch: Any) -> RecordBatch:
    """Build a batch of the records. A null value is accepted even if the record's tombstone flag is not set."""
    return BatchBuilder(format, as_read=True, **batch).extend(records).build()


UNFLAGGED = [Record(1, 5, b"a", None, tombstone=False), Record(2, 6, b"b", b"v", tombstone=False)]


@pytest.mark.parametrize("format", ["kip87", "kip82-int+kip87"])
@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize(
    "how",
    [
        lambda partition, folder, format: compact_partition(
            partition, folder, Compaction(now=NOW, include_active=True, format=format)
        ),
        lambda partition, folder, format: convert_partition(
            partition, folder, Conversion(format, "lz4", source=format)
        ),
        lambda partition, folder, format: convert_partition(
            partition, folder, Conversion(None, None, BatchSize(records=1), format)
        ),
    ],
    ids=["compact", "convert", "rebatch"],
)
def test_null_value_without_the_flag_is_kept_in_a_rewritten_batch(
    tmp_path: Path, format: str, codec: str, how: Callable[[log.Partition, Path, str], Any]
) -> None:
    first = copied([Record(0, 5, b"b", b"old", tombstone=False), *UNFLAGGED], format, compression=codec)
    folder = write_segment(tmp_path / "t-0", first).parent
    how(log.Partition(folder), tmp_path / "out", format)
    kept = [record for _, record in records_of(tmp_path / "out", format)][-2:]
    assert kept == UNFLAGGED
    assert stat(log.Partition(tmp_path / "out").segments[0], format).nulls_without_flag == 1
