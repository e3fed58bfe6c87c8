from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from native_engine import in_use
from pyspark.sql.types import StructType
from small_logs import flip
from streamed_logs import segment
from written_logs import SAMPLE, arrow_rows, read_rows

from tagwire.log import LogError
from tagwire.message.engines import engine
from tagwire.records import BatchBuilder
from tagwire_spark import PipelineError
from tagwire_spark.log_read.column_table import BATCH_COLUMNS, RECORD_COLUMNS, SparkColumn
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import rows_of
from tagwire_spark.log_read.splits import plan

pytestmark = in_use

TIME = 1_700_000_000_000


def both_engines(monkeypatch: pytest.MonkeyPatch, path: Path, **options: Any) -> list[dict[str, Any]]:
    native = read_rows(path, **options)
    with monkeypatch.context() as patch:
        patch.setattr("tagwire.log.column_stream.engine", lambda: "python")
        assert native == read_rows(path, **options)
    return native


@pytest.mark.parametrize("columns", [RECORD_COLUMNS, BATCH_COLUMNS])
def test_every_column_is_read_natively(columns: tuple[SparkColumn, ...]) -> None:
    assert [column.name for column in columns if not (column.needs or column.split)] == ["_error"]


@pytest.mark.thorough
@pytest.mark.parametrize("level", ["record", "batch"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"includeControlRecords": "true"},
        {"maxSplitBytes": "300"},
        {"respectLogStart": "true"},
        {"partial": "true"},
        {"recordsFromTimestamp": "1", "recordsBeforeTimestamp": str(1 << 60)},
        {"recordsBeforeTimestamp": "1"},
        {"subscribePattern": ".*0.*", "isolation.level": "read_committed"},
    ],
    ids=str,
)
def test_logs_of_brokers(monkeypatch: pytest.MonkeyPatch, logs: Path, options: dict[str, str], level: str) -> None:
    brokers = [each for each in sorted(logs.iterdir()) if each.is_dir()]
    found = [both_engines(monkeypatch, broker, level=level, failOnDataLoss="false", **options) for broker in brokers]
    assert any(found) or options == {"recordsBeforeTimestamp": "1"}


@pytest.mark.parametrize("damage", [None, 3, 25, 70])
@pytest.mark.parametrize("split_bytes", ["300", "64m"])
def test_checksum_covers_the_original_bytes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: int | None, split_bytes: str
) -> None:
    copytree(SAMPLE / "orders-0", tmp_path / "orders-0")
    if damage is not None:
        flip(tmp_path / "orders-0" / f"{0:020}.log", damage)
    options = {"level": "batch", "mode": "PERMISSIVE", "maxSplitBytes": split_bytes}
    found = both_engines(monkeypatch, tmp_path, **options)
    assert sum(row["_error"] is not None for row in found) == (damage not in (None, 3))


@pytest.mark.parametrize("first", [0, 1, 7, 12, 29, 30])
@pytest.mark.parametrize("time", [0, 1 << 60])
def test_offsets_and_times_select_batches_and_records(monkeypatch: pytest.MonkeyPatch, first: int, time: int) -> None:
    options = {
        "startingOffsets": f'{{"orders": {{"0": {first}}}}}',
        "endingOffsets": f'{{"orders": {{"0": {first + 9}}}}}',
        "failOnDataLoss": "false",
        "recordsFromTimestamp": str(time),
    }
    assert any(both_engines(monkeypatch, SAMPLE / "orders-0", level="batch", **options)) == (first < 30 and not time)
    found = both_engines(monkeypatch, SAMPLE / "orders-0", **options)
    assert [row["offset"] for row in found] == [n for n in range(first, first + 9) if n < 30 and not time]


def test_no_column_at_all() -> None:
    query = log_query({"path": str(SAMPLE)})
    assert sum(batch.num_rows for split in plan(query) for batch in rows_of(split, query, StructType())) == 60


@pytest.mark.parametrize("name", ["v0", "v1", "v2", "v3", "kip82-int"])
def test_formats(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    has_more = name not in ("v0", "v1")
    batches = []
    for number, codec in enumerate(("none", "gzip")):
        given: dict[str, Any] = {"producer_id": 5, "base_sequence": 0x7FFFFFFE} if name == "v2" else {}
        builder = BatchBuilder(name, compression=codec, **given)
        for index in range(3):
            headers = ((7 if name == "kip82-int" else "h", b"x"),) if has_more and index else ()
            time = -1 if name == "v0" else TIME + index
            builder.append(
                b"k" if index else None,
                b"v" * index or None,
                timestamp=time,
                headers=headers,
                offset=3 * number + index,
            )
        batches.append(builder.build().encode())
    folder = segment(tmp_path / "t-3", 0, *batches).parent
    options = {} if name != "kip82-int" else {"recordFormat": name}
    bases = [row["baseOffset"] for row in both_engines(monkeypatch, folder, level="batch", **options)]
    # In formats other than v2 and v3, each message counts as a batch.
    assert bases == ([0, 3] if name in ("v2", "v3") else [0, 1, 2, 3])
    assert [row["offset"] for row in both_engines(monkeypatch, folder, **options)] == list(range(6))


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("count", [-1, -5, -(2**31)])
def test_a_negative_count(tmp_path: Path, codec: str, count: int) -> None:
    batch = BatchBuilder("v2", compression=codec).append(b"k", b"v").append(b"k", b"v").build()
    segment(tmp_path / "t-0", 0, batch.replace(count=count).encode())
    with pytest.raises((LogError, PipelineError), match=f"found a count of {count}"):
        read_rows(tmp_path)


def test_damage_is_reported_after_earlier_rows(tmp_path: Path) -> None:
    copytree(SAMPLE / "orders-0", tmp_path / "orders-0")
    flip(tmp_path / "orders-0" / f"{0:020}.log")
    got = []
    with pytest.raises(PipelineError, match=r"\[MALFORMED_KAFKA_LOG\].*crc") as rejected:
        for batch in arrow_rows(tmp_path):
            got += batch.to_pylist()
    assert 0 < len(got) < 30 and not isinstance(rejected.value, LogError)


@pytest.mark.parametrize("format", ["v1", "v2"])
def test_timestamps_out_of_range(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, format: str) -> None:
    """Check that timestamps beyond Spark's range become null, for example if a writer stored nanoseconds."""
    most = 0x7FFFFFFFFFFFFFFF // 1000
    times = [TIME * 1_000_000, TIME, most, most + 1, -most, -most - 1]
    builder = BatchBuilder(format)
    for offset, time in enumerate(times):
        builder.append(b"k", b"v", timestamp=time, offset=offset)
    segment(tmp_path / "t-0", 0, builder.build().encode())
    expected = [None if abs(time) > most else time * 1000 for time in times]
    for name in (engine(), "python"):
        monkeypatch.setattr("tagwire.log.column_stream.engine", lambda *_, answer=name: answer)
        [batch] = arrow_rows(tmp_path)
        assert batch.column("timestamp").cast("int64").to_pylist() == expected
