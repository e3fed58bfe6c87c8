"""The local Spark session of a process. It starts when the first test needs it."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@cache
def missing() -> str:
    if find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'tagwire[spark]'"
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        return "Spark needs Java 17, and there is no java here"
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:
        return f"Spark needs Java 17, and {java} does not run: {error}"
    version = re.search(r'version "(\d+)', done.stderr)
    if version is None or int(version[1]) < 17:
        return f"Spark needs Java 17, and {java} is {version[1] if version else 'none that tells its version'}"
    return ""


@cache
def session() -> "SparkSession":
    """Return the session. Its workers run in the repository root."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    from tagwire_spark import spark_conf

    with contextlib.chdir(ROOT):
        # Run tasks in two threads, and try each task at most twice.
        builder = SparkSession.builder.master("local[2,2]").appName("tests").config(map={**spark_conf(), **SETTINGS})
        spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")  # tests cause many errors
    return spark


def stop() -> None:
    if session.cache_info().currsize:
        session().stop()
        session.cache_clear()
