import os
import subprocess
import sys
import venv
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from zipfile import PyZipFile

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("can_start_spark")]

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


SHIPPED = """
import sys
from pyspark.sql import SparkSession, functions as F
from pyspark_tagwire import DefaultSource as LogSource
from pyspark_tagwire_rpc import DefaultSource as RpcSource
from tagwire_spark import from_message, spark_conf, to_message
from tagwire_spark.jobs import convert_logs

data, folder, python = sys.argv[1:]
settings = {**spark_conf(), "spark.pyspark.python": python}
spark = SparkSession.builder.remote("local[2]").config(map=settings).getOrCreate()
spark.addArtifacts(f"{folder}/packages.zip", pyfile=True)

@F.udf("string")
def where(number):
    import tagwire
    return tagwire.__file__
assert "packages.zip" in spark.range(1).select(where("id")).first()[0]
encoded = spark.range(3).select(to_message(F.struct(F.lit("g").alias("group_id")), "HeartbeatRequest", 4).alias("v"))
found = encoded.select(from_message("v", "HeartbeatRequest", 4, fields=["group_id"]).group_id).collect()
assert [row[0] for row in found] == ["g", "g", "g"]
assert len(convert_logs(spark, f"{data}/sample_log", f"{folder}/converted")) == 2
print("functions")
for source in (LogSource, RpcSource):
    spark.dataSource.register(source)
logs = spark.read.format("kafka_log").load(f"{data}/sample_log")
logs.write.format("kafka_log").mode("append").save(f"{folder}/written")
assert spark.read.format("kafka_log").load(f"{folder}/written").count() == 60
assert spark.read.format("kafka_rpc").load(f"{data}/captures/captures.jsonl.gz").count() > 100
print("sources")
spark.stop()
"""


@pytest.fixture(autouse=True)
def connect() -> None:
    """Skip the tests if Spark Connect can't run here."""
    for module, package in (("grpc", "grpcio"), ("grpc_status", "grpcio-status"), ("zstandard", "zstandard")):
        if find_spec(module) is None:
            pytest.skip(f"Spark Connect needs {package}, which is not installed: pip install 'pyspark[connect]'")


def test_spark_connect(tmp_path: Path) -> None:
    assert _printed(PROGRAM, tmp_path) == ["functions", "sources", "writer", "stream", "jobs"]


def test_tagwire_sent_as_an_artifact(tmp_path: Path) -> None:
    """Send tagwire's packages to a server whose Python environment does not contain tagwire."""
    with PyZipFile(str(tmp_path / "packages.zip"), "w") as packages:
        for name in ("tagwire", "tagwire_drafts", "tagwire_messages", "tagwire_records", "tagwire_spark"):
            packages.writepy(str(Path(import_module(name).__file__ or "").parent))
    others = tmp_path / "others"
    others.mkdir()
    for path in Path(import_module("pyspark").__file__ or "").parents[1].iterdir():
        if "tagwire" not in path.name and path.suffix != ".pth":
            (others / path.name).symlink_to(path)
    venv.create(tmp_path / "env", symlinks=True)
    [site_packages] = (tmp_path / "env").glob("lib/python*/site-packages")
    (site_packages / "others.pth").write_text(str(others))
    python = tmp_path / "env" / "bin" / "python"
    missing = subprocess.run([python, "-c", "import pyarrow, tagwire"], capture_output=True, text=True, check=False)
    assert "No module named 'tagwire'" in missing.stderr
    assert _printed(SHIPPED, tmp_path, python) == ["functions", "sources"]


def _printed(text: str, folder: Path, python: Path | None = None) -> list[str]:
    """Run a program with Spark Connect, and return the words that it prints. `python` is the workers' interpreter."""
    program = folder / "program.py"
    program.write_text(text)
    data = Path(__file__).parents[1] / "data"
    environment = {**os.environ, "PYSPARK_PYTHON": str(python or sys.executable), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, str(program), str(data), str(folder), *([str(python)] if python else ())]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=900, check=False, env=environment, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return done.stdout.split()
