"""`kafka_log` on S3 in a running Spark: options reach the workers, and what Spark shows has no secret."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")
pytest.importorskip("moto", reason="moto is not installed: pip install 'moto[s3]' flask flask-cors s3fs")
pytest.importorskip("flask", reason="flask is not installed: pip install flask flask-cors")
pytest.importorskip("s3fs", reason="s3fs is not installed: pip install s3fs")

import s3fs
from object_storage import s3_server
from pyspark.errors import PySparkException
from streamed_logs import batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def bucket() -> Iterator[tuple[Any, str]]:
    with s3_server() as (options, _):
        system = s3fs.S3FileSystem(**options)
        system.mkdir("logs")
        for base in (0, 5):
            system.pipe(f"logs/k/orders-0/{base:020}.log", batch(base))
        yield system, json.dumps(options)


def test_a_read_and_a_stream(
    spark: "SparkSession", bucket: tuple[Any, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    system, options = bucket
    df = spark.read.format("kafka_log").option("storageOptions", options).load("s3://logs/k")
    assert [row.offset for row in df.orderBy("offset").collect()] == [*range(10)]
    df.where("offset > 3").explain(extended=True)
    source = spark.readStream.format("kafka_log").option("storageOptions", options).load("s3://logs/k")
    sink = source.select("offset").writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "c"))
    query = sink.trigger(availableNow=True).start(str(tmp_path / "out"))
    query.awaitTermination()
    assert sorted(row.offset for row in spark.read.parquet(str(tmp_path / "out")).collect()) == [*range(10)]
    system.pipe(f"logs/k/orders-0/{0:020}.log", b"\0\1" * 300)
    with pytest.raises(PySparkException, match="MALFORMED_KAFKA_LOG") as refused:
        spark.read.format("kafka_log").option("storageOptions", options).load("s3://logs/k").collect()
    shown = "".join((*capfd.readouterr(), str(refused.value), str(query.lastProgress), query.name or ""))
    written = "".join(each.read_text(errors="replace") for each in (tmp_path / "c").rglob("*") if each.is_file())
    assert "kafka_log" in shown and "very-hidden" not in shown + written
