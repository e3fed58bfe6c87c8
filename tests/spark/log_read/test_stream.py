from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxFiles, ReadMaxRows
from streamed_logs import batch, rows, segment, stream, triggers
from written_logs import SAMPLE

from tagwire.log.scan import Scan
from tagwire_spark import PipelineError
from tagwire_spark.log_read.stream import LogStreamReader, stream_query
from tagwire_spark.log_source import LogSource

pytestmark = pytest.mark.spark


class Query:
    """A stream query. Each call of `more` reads everything that is available."""

    def __init__(self, reader: LogStreamReader) -> None:
        self.reader = reader
        self.position = reader.initialOffset()

    def more(self) -> list[dict[str, Any]]:
        parts = list(triggers(self.reader, self.position))
        self.position = parts[-1][0] if parts else self.position
        return [row for _, part in parts for row in part]


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({}, 1),
        ({"maxOffsetsPerTrigger": 7}, 12),
        ({"maxOffsetsPerTrigger": 1}, 40),
        ({"maxBytesPerTrigger": 700}, 12),
        ({"maxBytesPerTrigger": 1}, 12),
        ({"maxFilesPerTrigger": 1}, 2),
    ],
)
def test_each_record_is_read_once_under_any_limit(options: dict[str, Any], most: int) -> None:
    reader = stream(SAMPLE, **options)
    start = reader.initialOffset()
    assert start == {"orders": {"0": 0, "1": 0}}
    parts = list(triggers(reader, start))
    got = sorted((row["partition"], row["offset"]) for _, part in parts for row in part)
    assert got == [(partition, offset) for partition in (0, 1) for offset in range(30)]
    assert parts[-1][0] == {"orders": {"0": 30, "1": 30}} == reader.reportLatestOffset()
    assert (len(parts) > 1) == bool(options) and len(parts) <= most
    if "maxOffsetsPerTrigger" in options:  # triggers end after whole batches
        assert max(len(part) for _, part in parts) <= options["maxOffsetsPerTrigger"] + 10


@pytest.mark.parametrize("others", [0, 1, 20])
def test_share_of_a_limit_is_proportional_to_the_backlog(tmp_path: Path, others: int) -> None:
    for number, count in enumerate([500, *(9 * [others])]):
        segment(tmp_path / f"t-{number}", 0, *(batch(5 * n) for n in range(count)))
    most = 200 * len(batch(0))
    reader = stream(tmp_path, maxBytesPerTrigger=most)
    end = reader.latestOffset({}, reader.getDefaultReadLimit())
    used = sum(end["t"].values()) // 5 * len(batch(0))
    assert 0.95 * most <= used <= 1.05 * most


def test_a_growing_segment_is_searched_from_its_last_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an index, a search for the log's end must read only new batch headers, unless the log was truncated."""
    path = segment(tmp_path / "t-0", 0, *(batch(5 * n) for n in range(50)))
    reader, read, span = stream(tmp_path), list[int](), Scan.span

    def counted(scan: Scan, position: int) -> Any:
        read.append(position)
        return span(scan, position)

    monkeypatch.setattr(Scan, "span", counted)
    for count, most in ((50, 60), (51, 3), (52, 3), (20, 30)):
        path.write_bytes(b"".join(batch(5 * n) for n in range(count)))
        read.clear()
        assert reader.latestOffset({}, reader.getDefaultReadLimit()) == {"t": {"0": 5 * count}}
        assert 0 < len(read) <= most


@pytest.mark.parametrize(("limit", "expected"), [
    (ReadAllAvailable(), 30), (ReadMaxRows(7), 10), (ReadMaxBytes(1), 5), (ReadMaxFiles(1), 10), (ReadMaxFiles(2), 25),
])  # fmt: skip
def test_limit_of_spark_takes_precedence(tmp_path: Path, limit: Any, expected: int) -> None:
    folder = tmp_path / "t-0"
    for base, count in ((0, 2), (10, 3), (25, 1)):
        segment(folder, base, *(batch(base + 5 * n) for n in range(count)))
    reader = stream(tmp_path, maxOffsetsPerTrigger=1)
    assert reader.latestOffset({"t": {"0": 0}}, limit) == {"t": {"0": expected}}


@pytest.mark.parametrize(("partitions", "most", "turns", "least"), [(2, 1, 24, 6), (5, 2, 60, 12), (3, 4, 5, 5)])
def test_every_partition_makes_progress(tmp_path: Path, partitions: int, most: int, turns: int, least: int) -> None:
    names = [str(n) for n in range(partitions)]
    position = {"t": dict.fromkeys(names, 0)}
    served = dict.fromkeys(names, 0)
    for turn in range(turns):
        for name in names:
            segment(tmp_path / f"t-{name}", 5 * turn, batch(5 * turn))
        end = stream(tmp_path, maxFilesPerTrigger=most).latestOffset(position, ReadMaxFiles(most))
        read = {name: (end["t"][name] - position["t"][name]) // 5 for name in names}
        assert 0 < sum(read.values()) <= most
        served = {name: served[name] + bool(read[name]) for name in names}
        # A restarted stream must choose the same end offsets.
        assert end == stream(tmp_path).latestOffset(position, ReadMaxFiles(most))
        position = end
    assert min(served.values()) >= least


def test_what_is_available_now(tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, batch(0))
    reader = stream(tmp_path, maxOffsetsPerTrigger=1)
    reader.prepareForTriggerAvailableNow()
    segment(tmp_path / "t-0", 0, batch(0), batch(5))
    segment(tmp_path / "u-0", 0, batch(0))
    assert [end for end, _ in triggers(reader, {"t": {"0": 0}})] == [{"t": {"0": 5}}]


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
@pytest.mark.parametrize("zeros", [0, 3000])
def test_a_log_that_grows_byte_by_byte(tmp_path: Path, mode: str, zeros: int) -> None:
    """Check that a batch is read as soon as it is complete, with or without preallocated zeros after it."""
    data = b"".join(batch(5 * n, size=9) for n in range(6))
    query, got = Query(stream(tmp_path, mode=mode)), []
    for end in (*range(0, len(data), 11), len(data)):
        segment(tmp_path / "t-0", 0, data[:end], bytes(zeros))
        got += [row["offset"] for row in query.more()]
    assert got == list(range(30))


def test_new_segments_and_partitions(tmp_path: Path) -> None:
    reader = stream(tmp_path)
    assert reader.initialOffset() == {} == reader.latestOffset({}, ReadAllAvailable())
    assert reader.partitions({}, {}) == []
    query, got = Query(reader), []
    for step in range(4):
        segment(tmp_path / "t-0", 5 * step, batch(5 * step))
        segment(tmp_path / f"u{step}-0", 0, batch(0))
        got += [(row["topic"], row["offset"]) for row in query.more()]
    assert sorted(got) == sorted([("t", n) for n in range(20)] + [(f"u{s}", n) for s in range(4) for n in range(5)])


def test_same_range_gives_equal_rows_after_a_restart(tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, batch(0), batch(5))
    start, end = {"t": {"0": 0}}, {"t": {"0": 10}}
    before = rows(stream(tmp_path), start, end)
    segment(tmp_path / "t-0", 0, batch(0), batch(5), batch(10)[:-3])
    assert rows(stream(tmp_path), start, end) == before and len(before) == 10


@pytest.mark.parametrize(
    ("starting", "expected"),
    [
        ("earliest", {"t": {"0": 5}, "u": {"0": 0}}),
        ("latest", {"t": {"0": 10}, "u": {"0": 5}}),
        ('{"t": {"0": 7}}', {"t": {"0": 7}, "u": {"0": 0}}),
        ('{"t": {"0": -1}, "u": {"0": -2}}', {"t": {"0": 10}, "u": {"0": 0}}),
        ('{"new": {"3": 4}}', {"new": {"3": 4}, "t": {"0": 5}, "u": {"0": 0}}),
    ],
)
def test_where_it_begins(tmp_path: Path, starting: str, expected: dict[str, Any]) -> None:
    segment(tmp_path / "t-0", 5, batch(5))
    segment(tmp_path / "u-0", 0, batch(0))
    assert stream(tmp_path, startingOffsets=starting).initialOffset() == expected
    LogSource({"path": str(tmp_path), "startingOffsets": starting, "maxFilesPerTrigger": "1"}).schema()


@pytest.mark.parametrize("at", [25, 8, 16, 100])
def test_damage_in_each_mode(tmp_path: Path, at: int) -> None:
    """Change a byte of a batch: the read must fail, or return an error row."""
    bad = bytearray(batch(5))
    bad[at] ^= 0x41
    whole = [batch(0), bytes(bad), batch(10), batch(15), batch(20)]
    segment(tmp_path / "t-0", 0, *whole)
    for options in ({}, {"maxOffsetsPerTrigger": 1}, {"maxBytesPerTrigger": 1}):
        with pytest.raises(PipelineError, match="MALFORMED_KAFKA_LOG"):
            list(triggers(stream(tmp_path, **options), {"t": {"0": 0}}))
        reader = stream(tmp_path, mode="PERMISSIVE", **options)
        got = [row for _, part in triggers(reader, {"t": {"0": 0}}) for row in part]
        assert [row["offset"] for row in got if not row["_error"]] == [*range(5), *range(10, 25)]
        [error] = [row for row in got if row["_error"]]
        assert error["position"] == len(whole[0])


def test_damaged_batch_whose_length_reaches_into_the_last_batch(tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, batch(0), batch(5)[:-12], batch(10))
    with pytest.raises(PipelineError, match="MALFORMED_KAFKA_LOG"):
        list(triggers(stream(tmp_path), {"t": {"0": 0}}))
    [(end, part)] = triggers(stream(tmp_path, mode="PERMISSIVE"), {"t": {"0": 0}})
    assert [row["offset"] for row in part] == [*range(5), None, *range(10, 15)] and end == {"t": {"0": 15}}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger"),
        ({"maxOffsetsPerTrigger": str(1 << 63)}, f"expected 1 to {(1 << 63) - 1}, got"),
        ({"maxOffsetsPerTrigger": "1", "maxBytesPerTrigger": "1"}, "one of them"),
        ({"endingOffsets": "latest"}, "no end"),
        ({"failOnDataLoss": "maybe"}, "true or false"),
        ({"maxOffsets": "1"}, "maxOffsetsPerTrigger"),
        ({"startingOffsets": '{"t": {"0": -3}}'}, "-3"),
        ({"maxTriggerDelay": "5"}, "Option maxTriggerDelay: expected a duration, such as 30s or 15m"),
        ({"maxTriggerDelay": "5 weeks"}, "expected a duration, such as 30s or 15m"),
        ({"maxTriggerDelay": "-5m"}, "expected a duration, such as 30s or 15m"),
        ({"maxTriggerDelay": f"{'9' * 5000}m"}, "expected a duration, such as 30s or 15m"),
    ],
)
def test_options_that_are_rejected(tmp_path: Path, options: dict[str, str], text: str) -> None:
    with pytest.raises(PipelineError, match="INVALID_TAGWIRE_OPTION") as rejected:
        stream_query({"path": str(tmp_path), **options})
    assert text in str(rejected.value)


def test_folders_of_future_partitions_are_ignored(tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, batch(0))
    for state in ("future", "delete", "stray"):
        segment(tmp_path / f"t-0.{'0' * 32}-{state}", 0, batch(0))
    for path in (tmp_path, tmp_path / "t-*"):
        [(end, found)] = triggers(stream(path), {})
        assert end == {"t": {"0": 5}} and [row["offset"] for row in found] == [*range(5)]


@pytest.mark.parametrize("path", ["t-0/00000000000000000000.log", "t-0/*.log", "t-?/*0.log"])
def test_streams_of_a_single_segment_are_rejected(tmp_path: Path, path: str) -> None:
    """A stream of a single segment would never read the next segments."""
    segment(tmp_path / "t-0", 0, batch(0))
    segment(tmp_path / "t-0", 5, batch(5))
    (tmp_path / "meta.properties").write_text("broker.id=1\n")
    with pytest.raises(PipelineError, match=r"^\[INVALID_TAGWIRE_OPTION\] Option path names the file") as rejected:
        stream(tmp_path / path).latestOffset({"t": {"0": 0}}, ReadAllAvailable())
    assert f"; give {tmp_path / 't-0'}." in str(rejected.value)
    for whole in ("t-?", "*"):  # "*" also matches the file meta.properties, which must be ignored
        assert stream(tmp_path / whole).latestOffset({}, ReadAllAvailable()) == {"t": {"0": 10}}


def run(df: DataFrame, folder: Path, **options: Any) -> list[Any]:
    writer = df.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).options(**options).start(str(folder / "out"))
    query.awaitTermination()
    return list(query.recentProgress)


def test_restarted_stream(spark: SparkSession, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    copytree(SAMPLE, logs)
    spark.conf.set("spark.sql.streaming.forceDeleteTempCheckpointLocation", "true")

    def df() -> DataFrame:
        read = spark.readStream.format("kafka_log").schema("topic string, partition int, offset long, value binary")
        return read.option("maxOffsetsPerTrigger", "40").load(str(logs))

    progress = [each for each in run(df(), tmp_path) if each.numInputRows]
    assert [each.numInputRows for each in progress] == [40, 20]
    assert progress[-1].sources[0].endOffset == '{"orders": {"0": 30, "1": 30}}'
    assert not [each for each in run(df(), tmp_path) if each.numInputRows]
    segment(logs / "orders-0", 30, batch(30), batch(35)[:-1])
    segment(logs / "more-0", 0, batch(0))
    run(df(), tmp_path)
    segment(logs / "orders-0", 30, batch(30), batch(35))
    run(df(), tmp_path)
    got = sorted(spark.read.parquet(str(tmp_path / "out")).select("topic", "partition", "offset").collect())
    expected = [("more", 0, n) for n in range(5)]
    expected += [("orders", 0, n) for n in range(40)] + [("orders", 1, n) for n in range(30)]
    assert [tuple(row) for row in got] == expected
    assert run(df().where("value is not null"), tmp_path)[-1].sources[0].latestOffset


def test_failed_and_restarted_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Check that a failed micro-batch is repeated with equal rows. If records are lost later, a restart must fail."""
    logs = tmp_path / "logs"
    logs.mkdir()
    segment(logs / "t-0", 0, batch(0))
    segment(logs / "t-0", 5, batch(5))
    seen: list[list[int]] = []

    def take(df: DataFrame, number: int) -> None:
        seen.append(sorted(row.offset for row in df.select("offset").collect()))
        if len(seen) == 2:
            raise ValueError("once")

    def start() -> None:
        read = spark.readStream.format("kafka_log").option("maxFilesPerTrigger", "1").load(str(logs))
        writer = read.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()

    with pytest.raises(PySparkException):
        start()
    segment(logs / "t-0", 10, batch(10))
    start()
    assert seen == [list(range(5)), list(range(5, 10)), list(range(5, 10)), list(range(10, 15))]
    rmtree(logs / "t-0")
    segment(logs / "t-0", 20, batch(20))
    with pytest.raises(PySparkException, match="KAFKA_LOG_DATA_LOSS"):
        start()
