from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession
from small_logs import flip, transactional
from written_logs import SAMPLE, files

from tagwire.errors import TagwireError
from tagwire.log import LogError, LogPathError, Partition, find_partitions
from tagwire.log.convert import Conversion, ConvertReport, convert_partition, copy_directory_files
from tagwire.log.rebatching import BatchSize
from tagwire.log.whatif import Kind, WhatIf
from tagwire_spark import PipelineError
from tagwire_spark.jobs import convert_logs, whatif_logs

pytestmark = pytest.mark.spark


def on_one_machine(logs: Path, output: Path, conversion: Conversion) -> list[ConvertReport]:
    found = list(find_partitions(logs))
    reports = [
        report for each in found for report in convert_partition(each, output / each.path.relative_to(logs), conversion)
    ]
    folders = sorted({each.path.parent for each in found})
    targets = [(folder, output / folder.relative_to(logs)) for folder in folders]
    copy_directory_files(targets, keeps_producers=conversion.is_one_to_one)
    return reports


@pytest.mark.parametrize(
    ("to", "codec", "records"), [("v2", None, None), ("v1", "gzip", None), (None, "zstd", 100)], ids=str
)
def test_converted_as_on_one_machine(
    spark: SparkSession, logs: Path, tmp_path: Path, to: str | None, codec: str | None, records: int | None
) -> None:
    conversion = Conversion(to, codec, BatchSize(None, records))
    expected = on_one_machine(logs, tmp_path / "one", conversion)
    got = convert_logs(spark, logs, tmp_path / "many", to=to, codec=codec, batch_records=records)
    assert files(tmp_path / "many") == files(tmp_path / "one")
    assert [each.to_json() for each in got] == [each.to_json() for each in expected]
    assert {path.name for path in tmp_path.iterdir()} == {"one", "many"}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("to", "codec", "source"),
    [
        (None, "gzip", "auto"),
        ("v3", None, "auto"),
        ("v3-zigzag", None, "auto"),
        ("kip82-str", None, "auto"),
        ("kip82-str", "gzip", "v3-zigzag"),
        (None, "gzip", "v3-zigzag"),
    ],
)
def test_transactions_across_segments(tmp_path: Path, to: str | None, codec: str | None, source: str) -> None:
    log = transactional(tmp_path / "from" / "t-0")
    if source != "auto":
        convert_partition(Partition(log), tmp_path / "t-0", Conversion(source))
        log = tmp_path / "t-0"
    convert_partition(Partition(log), tmp_path / "one", Conversion(to, codec, source=source))
    convert_logs(cast(SparkSession, None), log, tmp_path / "many", to=to, codec=codec, format=source)
    assert files(tmp_path / "many" / "t-0") == files(tmp_path / "one")
    aborted = [each for segment in Partition(tmp_path / "one").segments for each in segment.aborted_transactions]
    assert [(each.producer_id, each.first_offset) for each in aborted] == [(8, 1), (7, 0), (8, 6)]


def test_a_job_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    log = transactional(tmp_path / "t-0")
    flip(log / f"{1:020}.log")
    with pytest.raises(PipelineError, match=r"^\[MALFORMED_KAFKA_LOG\].*crc.*SQLSTATE: 22023$") as rejected:
        convert_logs(spark, log, tmp_path / "out", codec="gzip")
    assert f"{1:020}.log" in str(rejected.value)
    with pytest.raises(LogError, match="crc"):
        convert_partition(Partition(log), tmp_path / "one", Conversion(codec="gzip"))
    assert [path.name for path in tmp_path.iterdir()] == ["t-0"]


def test_arguments_that_convert_rejects_immediately(tmp_path: Path) -> None:
    spark: Any = None  # not used
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "orders-0").symlink_to(SAMPLE / "orders-0")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    segment = next((SAMPLE / "orders-0").glob("*.log"))
    rejected: list[tuple[Any, Path, dict[str, Any], str]] = [
        (SAMPLE, tmp_path / "link", {}, "link is a link or a mount point, .*choose another output"),
        (SAMPLE, Path(tmp_path.anchor), {}, "is a link or a mount point"),
        (SAMPLE, tmp_path / "full", {}, "already exists"),
        (SAMPLE, tmp_path / "full" / "file" / "x", {}, "can't be written"),
        (tmp_path / "nowhere", tmp_path / "out", {}, "no such file or folder"),
        (tmp_path / "full", tmp_path / "out", {}, "no partition found in"),
        (segment, tmp_path / "out", {}, "not a partition"),
        (Path("s3://bucket/logs"), tmp_path / "out", {}, "a Path can't represent a URL"),
        (SAMPLE, Path("s3://bucket/logs"), {}, "a Path can't represent a URL"),
        ([SAMPLE, tmp_path / "orders-0"], tmp_path / "out", {}, "the same folder"),
        (SAMPLE, tmp_path / "out", {"to": "v9"}, "v9"),
        (SAMPLE, tmp_path / "out", {"codec": "rar"}, "rar"),
    ]
    for paths, output, options, text in rejected:
        with pytest.raises(TagwireError, match=text):
            convert_logs(spark, paths, output, **options)
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogPathError, match="link is a link or a mount point"):
        convert_logs(spark, SAMPLE, tmp_path / "link")


def test_folders_without_segments(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "logs" / "t-0").mkdir(parents=True)
    (tmp_path / "logs" / "t-0" / "partition.metadata").write_text("version: 0\n")
    (tmp_path / "out").mkdir()
    assert convert_logs(spark, tmp_path / "logs", tmp_path / "out") == []
    assert list(files(tmp_path / "out")) == ["t-0/partition.metadata"]


def facts(found: WhatIf) -> tuple[dict[Kind, Any], Any]:
    counts = {kind: measure.to_json() | {"seconds": 0} for kind, measure in found.measures.items()}
    return counts, found.losses.to_json()


def test_measured_as_on_one_machine(spark: SparkSession, logs: Path) -> None:
    expected = WhatIf(Conversion("v1"), "v3")
    for partition in find_partitions(logs):
        for segment in (*partition.metadata_snapshots, *partition.segments):
            expected.add(segment, partition.topic or "")
    got = whatif_logs(spark, logs, "v1", against="v3")
    assert facts(got) == facts(expected) and got.total().left_out and got.total().header_saved
    one = next((SAMPLE / "orders-1").glob("*.log"))
    assert whatif_logs(spark, one, "v3").by(lambda kind: kind.topic)["orders"].records == 30
