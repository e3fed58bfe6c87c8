import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import spark_session

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession, functions as F
from tagwire_spark import decode_messages, from_message, in_log_order, register, spark_conf, to_message

data, folder = Path(sys.argv[1]), Path(sys.argv[2])
spark = SparkSession.builder.remote("local[2]").config(map=spark_conf()).getOrCreate()
assert type(spark).__module__ == "pyspark.sql.connect.session", type(spark)

group = F.struct(F.concat(F.lit("g"), F.col("id").cast("string")).alias("group_id"))
encoded = spark.range(3).select("id", to_message(group, "HeartbeatRequest", 4).alias("value"))
one = encoded.select(from_message("value", "HeartbeatRequest", 4, fields=["group_id"]).alias("m")).select("m.*")
many = decode_messages(encoded, "HeartbeatRequest", 4, fields=["group_id"], into=None).select("group_id")
for df in (one, many):
    assert sorted(row[0] for row in df.collect()) == ["g0", "g1", "g2"]
register(spark)
encoded.createOrReplaceTempView("beats")
read = spark.sql("select get_json_object(from_message(value, 'HeartbeatRequest', 4), '$.groupId') from beats")
assert sorted(row[0] for row in read.collect()) == ["g0", "g1", "g2"]
print("functions")

logs = spark.read.format("kafka_log").load(str(data / "sample_log"))
assert logs.count() == 60 == spark.read.format("kafka_log").option("pushdown", "true").load(
    str(data / "sample_log")).where("offset < 30").count()
assert spark.read.format("kafka_rpc").load(str(data / "captures" / "captures.jsonl.gz")).count() > 100
print("sources")

in_log_order(logs).write.format("kafka_log").mode("append").save(str(folder / "written"))
assert spark.read.format("kafka_log").load(str(folder / "written")).count() == 60
print("writer")

stream = spark.readStream.format("kafka_log").option("maxOffsetsPerTrigger", "40").load(str(folder / "written"))
sink = stream.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
sink.trigger(availableNow=True).start(str(folder / "out")).awaitTermination()
assert spark.read.parquet(str(folder / "out")).count() == 60

sink = stream.select("topic", "partition", "value").writeStream.format("kafka_log")
for _ in range(2):
    query = sink.option("checkpointLocation", str(folder / "c")).trigger(availableNow=True).start(str(folder / "sunk"))
    query.awaitTermination()
assert spark.read.format("kafka_log").load(str(folder / "sunk")).count() == 60
print("stream")

from tagwire_spark.jobs import compact, compact_logs, convert_logs, read_logs

compact.TASK_BYTES = -1  # as if all partitions were large
rules = {"include_active": True, "drop_keyless": True}
log = data / "sample_log"
assert [each.records for each in convert_logs(spark, log, folder / "converted", codec="zstd")] == [30, 30]
assert [each.keys for each in compact_logs(spark, log, folder / "compacted", **rules)] == [18, 21]
assert read_logs(spark, log, "key binary, offset long").select("offset").distinct().count() == 30
print("jobs")
spark.stop()
"""


def test_spark_connect(tmp_path: Path) -> None:
    if spark_session.missing():
        pytest.skip(spark_session.missing())
    for module, package in (("grpc", "grpcio"), ("grpc_status", "grpcio-status"), ("zstandard", "zstandard")):
        if find_spec(module) is None:
            pytest.skip(f"Spark Connect needs {package}, which is not installed: pip install 'pyspark[connect]'")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    data = Path(__file__).parents[1] / "data"
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, str(program), str(data), str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=900, check=False, env=environment, cwd=tmp_path
    )
    assert done.stdout.split() == ["functions", "sources", "writer", "stream", "jobs"], (
        done.stdout + done.stderr[-4000:]
    )
    assert done.returncode == 0
