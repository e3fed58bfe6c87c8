import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from object_storage import s3_server
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from streamed_logs import batch

pytestmark = pytest.mark.spark


@pytest.fixture
def bucket() -> Iterator[tuple[Any, str]]:
    with s3_server() as (system, options, _):
        for base in (0, 5):
            system.pipe(f"logs/k/orders-0/{base:020}.log", batch(base))
        yield system, json.dumps(options)


def test_a_read_and_a_stream(
    spark: SparkSession, bucket: tuple[Any, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
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
    with pytest.raises(PySparkException, match="MALFORMED_KAFKA_LOG") as rejected:
        spark.read.format("kafka_log").option("storageOptions", options).load("s3://logs/k").collect()
    shown = "".join((*capfd.readouterr(), str(rejected.value), str(query.lastProgress), query.name or ""))
    written = "".join(each.read_text(errors="replace") for each in (tmp_path / "c").rglob("*") if each.is_file())
    assert "kafka_log" in shown and "very-hidden" not in shown + written


def test_no_secret_in_writes_streams_and_foreach_batch(
    spark: SparkSession, bucket: tuple[Any, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    system, options = bucket
    source = str(Path(__file__).parents[1] / "data" / "sample_log")
    df = spark.read.format("kafka_log").load(source)
    writer = df.write.format("kafka_log").mode("append").option("storageOptions", options)
    writer.save("s3://logs/batch")
    stream = spark.readStream.format("kafka_log").option("maxOffsetsPerTrigger", 20).load(source)
    sink = stream.select("topic", "partition", "key", "value", "headers").writeStream.trigger(availableNow=True)

    def write(batch: Any, number: int) -> None:
        to = batch.write.format("kafka_log").mode("append").option("storageOptions", options)
        for _ in range(2):
            to.option("batchId", number).option("queryId", "mine").save("s3://logs/each")

    def start(path: str) -> Any:
        query = (
            sink.format("kafka_log").option("storageOptions", options).option("checkpointLocation", str(tmp_path / "c"))
        )
        started = query.start(path)
        started.awaitTermination()
        return started

    query = start("s3://logs/stream")
    start("s3://logs/stream")  # restart without new data
    sink.foreachBatch(write).option("checkpointLocation", str(tmp_path / "e")).start().awaitTermination()
    columns = ["topic", "partition", "offset", "key", "value", "headers"]
    expected = sorted(map(str, df.select(*columns).collect()))
    for path in ("batch", "stream", "each"):
        back = (
            spark.read.format("kafka_log").option("storageOptions", options).load(f"s3://logs/{path}").select(*columns)
        )
        assert sorted(map(str, back.collect())) == expected, path
        assert not [name for name in system.find(f"logs/{path}") if "/." in name]
    with pytest.raises(PySparkException, match="KAFKA_LOG_EXISTS") as rejected:
        writer.save("s3://logs/batch")
    jvm: Any = spark._jsparkSession
    executions = jvm.sharedState().statusStore().executionsList()
    plans = [executions.apply(n).physicalPlanDescription() for n in range(executions.size())]
    shown = "".join((*capfd.readouterr(), str(rejected.value), str(query.lastProgress), *plans))
    written = "".join(each.read_text(errors="replace") for each in tmp_path.rglob("*") if each.is_file())
    objects = "".join(system.cat_file(each).decode(errors="replace") for each in system.find("logs/batch"))
    assert plans and "kafka_log" in shown and "very-hidden" not in shown + written + objects
