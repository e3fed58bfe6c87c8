"""Test packages that are shipped with a job to a separate cluster, as docs/spark.md describes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from spec_projects import make_project

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("can_start_spark")]

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
def test_shipped_package(tmp_path: Path, how: str) -> None:
    """Ship a package to a worker that has its own JVM, with a `spark-submit` option or a Spark method."""
    (tmp_path / "project").mkdir()
    generate = [sys.executable, "-m", "tagwire", "generate"]
    subprocess.run(generate, check=True, capture_output=True, cwd=make_project(tmp_path / "project"))
    archive = shutil.make_archive(str(tmp_path / "pings"), "zip", tmp_path / "project" / "src", "pings")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program)]
    if how == "--py-files":
        command = [*_submit(), "--py-files", archive, str(program)]
    assert "read pings.zip" in _run([*command, archive, how, str(tmp_path / "logs")], tmp_path, sys.executable)


INTERPRETER = """#!/bin/sh
test "$(pwd -P)" = "$(cd "$(dirname "$0")/../.." && pwd -P)" || exit 1
exec {python} "$@"
"""
READER = """
import sys
from pyspark.sql import SparkSession, functions as F
from tagwire_spark import spark_conf

spark = SparkSession.builder.config(map=spark_conf()).getOrCreate()
rows = spark.range(4).select(F.lit("t").alias("topic"), F.col("id").cast("string").alias("value"))
rows.write.format("kafka_log").mode("append").save(sys.argv[1])
print("read", spark.read.format("kafka_log").load(sys.argv[1]).count())
spark.stop()
"""


def test_environment_in_an_archive(tmp_path: Path) -> None:
    """Check client mode with an environment that is shipped in an archive, which Spark unpacks as `env`."""
    interpreter = tmp_path / "env" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(INTERPRETER.format(python=sys.executable))
    interpreter.chmod(0o755)
    archive = shutil.make_archive(str(tmp_path / "env"), "gztar", tmp_path / "env")
    program = tmp_path / "program.py"
    program.write_text(READER)
    command = [*_submit(), "--archives", f"{archive}#env", str(program), str(tmp_path / "logs")]
    assert "read 4" in _run(command, tmp_path, "./env/bin/python")


def _submit() -> list[str]:
    from tagwire_spark import spark_conf

    settings = {name: value for name, value in spark_conf().items() if name != "spark.pyspark.python"}
    options = [part for pair in settings.items() for part in ("--conf", "=".join(pair))]
    return [str(Path(sys.executable).with_name("spark-submit")), "--master", "local-cluster[1,1,1024]", *options]


def _run(command: list[str], folder: Path, python: str) -> str:
    environment = {**os.environ, "PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1",
                   "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}  # fmt: skip
    before = _applications()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=600, check=False, env=environment, cwd=folder
        )
    finally:
        for application in _applications() - before:
            shutil.rmtree(application, ignore_errors=True)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-4000:]
    return done.stdout


def _applications() -> set[Path]:
    import pyspark

    return set((Path(pyspark.__file__).parent / "work").glob("app-*"))
