"""Packages that are shipped with a job, on a cluster of its own: what docs/spark.md says about clusters."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import spark_session
from spec_projects import make_project

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession, functions as F
from tagwire_spark import from_message, spark_conf, to_message

shipped, how, folder = sys.argv[1:]
settings = {"spark.ui.enabled": "false"}
if how != "--py-files":
    settings |= {**spark_conf(), "spark.master": "local[2]"}
spark = SparkSession.builder.config(map=settings).getOrCreate()
try:
    import pings
    assert how == "--py-files"
except ImportError:
    pass
if how == "addPyFile":
    spark.sparkContext.addPyFile(shipped)
elif how == "addArtifacts":
    spark.addArtifacts(shipped, pyfile=True)
options = {"package": "pings", "message": "PingRequest", "version": 1}
value = to_message(F.struct(F.col("id").alias("nonce")), "PingRequest", 1, {"package": "pings"})
rows = spark.range(4).select(F.lit("t").alias("topic"), value.alias("value"))
rows.write.format("kafka_log").mode("append").save(folder)
logs = spark.read.format("kafka_log").options(**options).load(folder)
assert sorted(row[0] for row in logs.select("message.nonce").collect()) == [0, 1, 2, 3]
stream = spark.readStream.format("kafka_log").options(**options).load(folder).select("message.nonce").writeStream
stream.format("memory").queryName("seen").trigger(availableNow=True).start().awaitTermination()
assert spark.table("seen").count() == 4
print("read", Path(sys.modules["pings"].__file__).parents[1].name)
spark.stop()
"""


@pytest.mark.parametrize("how", ["--py-files", "addPyFile", "addArtifacts"])
def test_a_package_that_is_shipped(tmp_path: Path, how: str) -> None:
    """By `spark-submit` to a cluster of one worker with a JVM of its own, and by calls."""
    if spark_session.missing():
        pytest.skip(spark_session.missing())
    (tmp_path / "project").mkdir()
    generate = [sys.executable, "-m", "tagwire", "generate"]
    subprocess.run(generate, check=True, capture_output=True, cwd=make_project(tmp_path / "project"))
    archive = shutil.make_archive(str(tmp_path / "pings"), "zip", tmp_path / "project" / "src", "pings")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program)]
    if how == "--py-files":
        from tagwire_spark import spark_conf

        settings = [part for pair in spark_conf().items() for part in ("--conf", "=".join(pair))]
        submit = Path(sys.executable).with_name("spark-submit")
        command = [str(submit), "--master", "local-cluster[1,1,1024]", *settings, "--py-files", archive, str(program)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
                   "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}  # fmt: skip
    before = _applications()
    try:
        done = subprocess.run(
            [*command, archive, how, str(tmp_path / "logs")],
            capture_output=True, text=True, timeout=600, check=False, env=environment, cwd=tmp_path,
        )  # fmt: skip
    finally:
        for folder in _applications() - before:
            shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 0 and "read pings.zip" in done.stdout, done.stdout[-1000:] + done.stderr[-4000:]


def _applications() -> set[Path]:
    """What workers of a local cluster leave in the folder of Spark."""
    import pyspark

    return set((Path(pyspark.__file__).parent / "work").glob("app-*"))
