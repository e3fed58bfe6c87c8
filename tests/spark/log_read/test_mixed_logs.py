from pathlib import Path
from typing import Any

import pytest
from mixed_logs import MIXTURES, Mixture, log_of
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from small_logs import write_segment
from streamed_logs import stream, triggers
from written_logs import read_rows

from tagwire import log
from tagwire.log.compact import compact_partition
from tagwire.log.compaction import Compaction
from tagwire.log.convert import Conversion, convert_partition
from tagwire.log.whatif import WhatIf
from tagwire.message.engines import engine
from tagwire.records import FormatSet, Record, build
from tagwire_spark import PipelineError
from tagwire_spark.jobs import compact, compact_logs, convert_logs, export_logs, import_logs, whatif_logs

pytestmark = pytest.mark.thorough

SOME = [each for each in MIXTURES if len(each.older) == 2]
TWO = [Mixture("kip82-int+kip87", ("v0", "v1")), Mixture("v3-zigzag", ("v1", "v2"))]
NOW = 10**13


def in_short(row: Any) -> tuple[Any, ...]:
    headers = [(header["key"], header["value"]) for header in row["headers"] or ()]
    return row["format"], row["offset"], row["key"], row["value"], row["tombstone"], headers


def expected_rows(expected: list[tuple[str, Record]]) -> list[tuple[Any, ...]]:
    return [
        (
            format,
            each.offset,
            each.key,
            each.value,
            each.is_tombstone,
            [(str(key), value) for key, value in each.headers],
        )
        for format, each in expected
    ]


@pytest.mark.parametrize("mixture", MIXTURES, ids=str)
def test_rows_of_splits_in_both_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mixture: Mixture) -> None:
    expected = expected_rows(log_of(tmp_path / "t-0", mixture))
    options = {"recordFormat": mixture.named}
    assert [in_short(row) for row in read_rows(tmp_path, **options)] == expected
    if mixture.named == "v3":
        assert [in_short(row) for row in read_rows(tmp_path, recordFormat="auto")] == expected
    assert (
        sorted(map(in_short, read_rows(tmp_path, **options, maxSplitBytes="150")), key=lambda row: row[1]) == expected
    )
    assert sum(row["_error"] is not None for row in read_rows(tmp_path, **options, mode="PERMISSIVE")) == 0
    batch_headers = read_rows(tmp_path, **options, level="batch")
    assert list(dict.fromkeys(row["format"] for row in batch_headers)) == list(dict.fromkeys(mixture.formats))
    if engine() == "native":
        monkeypatch.setattr("tagwire.log.column_stream.engine", lambda: "python")
        assert [in_short(row) for row in read_rows(tmp_path, **options)] == expected


@pytest.mark.parametrize("bound", [{"maxOffsetsPerTrigger": 5}, {"maxBytesPerTrigger": 200}], ids=str)
@pytest.mark.parametrize("mixture", SOME, ids=str)
def test_streams(tmp_path: Path, mixture: Mixture, bound: dict[str, int]) -> None:
    expected = expected_rows(log_of(tmp_path / "t-0", mixture))
    reader = stream(tmp_path, recordFormat=mixture.named, **bound)
    batches = list(triggers(reader, reader.initialOffset()))
    assert [in_short(row) for _, found in batches for row in found] == expected
    assert len(batches) > 3


def test_only_the_given_format_is_read(tmp_path: Path) -> None:
    batches = [build([Record(0, 5, b"k", b"v")], "v1"), build([Record(1, 5, b"k", b"v")], "kip87")]
    write_segment(tmp_path / "t-0", *batches)
    assert [row["format"] for row in read_rows(tmp_path, recordFormat="kip87")] == ["v1", "kip87"]
    with pytest.raises(PipelineError, match="found magic 1, expected 2"):
        read_rows(tmp_path, recordFormat="kip87", onlyRecordFormat="true")
    for options in ({"onlyRecordFormat": "true"}, {"recordFormat": "kip87,kip82-str"}):
        with pytest.raises(PipelineError, match="Option recordFormat or onlyRecordFormat"):
            read_rows(tmp_path, **options)


@pytest.mark.spark
@pytest.mark.parametrize("mixture", TWO, ids=str)
def test_on_spark(spark: SparkSession, tmp_path: Path, mixture: Mixture) -> None:
    expected = expected_rows(log_of(tmp_path / "t-0", mixture, "gzip"))
    options = {"recordFormat": mixture.named, "maxSplitBytes": "200"}
    found = spark.read.format("kafka_log").options(**options).load(str(tmp_path)).collect()
    assert sorted(map(in_short, found), key=lambda row: row[1]) == expected
    streamed = spark.readStream.format("kafka_log").options(recordFormat=mixture.named).load(str(tmp_path))
    query = streamed.writeStream.format("memory").queryName("mixed").trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(600)
        assert sorted(map(in_short, spark.table("mixed").collect()), key=lambda row: row[1]) == expected
    finally:
        query.stop()
    with pytest.raises(PySparkException, match="MALFORMED_KAFKA_LOG"):
        spark.read.format("kafka_log").options(**options, onlyRecordFormat="true").load(str(tmp_path)).collect()


def of(folder: Path, format: Any) -> list[tuple[str, Record]]:
    return [(batch.format, record) for batch in log.read(folder, format=format) for record in batch]


@pytest.mark.spark
@pytest.mark.parametrize("mixture", TWO, ids=str)
def test_jobs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mixture: Mixture) -> None:
    expected = log_of(tmp_path / "logs" / "t-0", mixture, "gzip")
    named, partition = mixture.named, log.Partition(tmp_path / "logs" / "t-0")
    for to in ("v1", named):
        convert_logs(spark, tmp_path / "logs", tmp_path / f"to-{to}", to=to, format=named)
        convert_partition(partition, tmp_path / f"alone-{to}", Conversion(to, source=named))
        assert of(tmp_path / f"to-{to}" / "t-0", to) == of(tmp_path / f"alone-{to}", FormatSet(to, only=True))
    monkeypatch.setattr(compact, "TASK_BYTES", 0)
    rules: dict[str, Any] = {"now": NOW, "include_active": True, "format": named}
    compact_logs(spark, tmp_path / "logs", tmp_path / "compacted", **rules)
    compact_partition(partition, tmp_path / "alone", Compaction(**rules))
    assert of(tmp_path / "compacted" / "t-0", named) == of(tmp_path / "alone", named)
    measured = WhatIf(Conversion("v2", source=named))
    for segment in partition.segments:
        measured.add(segment, "t")
    of_job = whatif_logs(spark, tmp_path / "logs", "v2", format=named)
    assert of_job.total().to_json() | {"seconds": 0} == measured.total().to_json() | {"seconds": 0}
    export_logs(spark, tmp_path / "logs", tmp_path / "parquet", format=named)
    import_logs(spark, tmp_path / "parquet", tmp_path / "again")
    assert of(tmp_path / "again" / "t-0", named) == expected
