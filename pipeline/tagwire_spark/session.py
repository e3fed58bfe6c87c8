"""Settings that make Python fast in a Spark session, and the session of a `tagwire spark` command.

The settings follow from measurements with PySpark 4.3. Over a Unix socket, a small task takes 4 to 5 ms, but 25 ms over
loopback TCP. Arrow's bounds checks in the JVM are off, because they take a third of Spark's time for rows from Python.
Columnar input of functions (the default since 4.3) is off, because it makes rows from Parquet a third more expensive.

Pipelined functions stay off (the default), because they sometimes fail with reused workers.
"""

import gc
import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from shutil import get_terminal_size
from typing import Final

from pyspark import TaskContext
from pyspark.sql import SparkSession

from tagwire.errors import TagwireError
from tagwire_spark.errors import SPARK_ERRORS, failure

_SETTINGS: Final = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.python.worker.reuse": "true",
    "spark.python.udf.pipelined.enabled": "false",
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
}
_JAVA_OPTIONS: Final = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
"""Options for the JVMs of the driver and the executors. A JVM that is already running ignores them."""
_LOCAL: Final = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.sql.session.timeZone": "UTC"}
"""Settings for commands that start Spark themselves. Logging is off, because commands report task errors."""


def spark_conf() -> dict[str, str]:
    """Return settings for `SparkSession.builder.config(map=spark_conf())`.

    Remove `spark.pyspark.python` if the workers' interpreter has a different path. Append your own JVM options to those
    in `spark.driver.extraJavaOptions` and `spark.executor.extraJavaOptions`.

    Sets PYSPARK_PYTHON in the environment if it is unset, so that Spark uses this interpreter to find data sources.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = {f"spark.{jvm}.extraJavaOptions": _JAVA_OPTIONS for jvm in ("driver", "executor")}
    return {**_SETTINGS, **options, "spark.pyspark.python": sys.executable}


@contextmanager
def session_of_command(
    master: str | None = None, remote: str | None = None, settings: Mapping[str, str] | None = None
) -> Generator[SparkSession]:
    """Yield a Spark session for one command, and stop it afterwards.

    If `remote` is given, use this Spark Connect server. If `spark-submit` started this process, use its session. In all
    other cases, run Spark on `master` (default: local). Raises PipelineError if Spark fails.
    """
    with spark_errors_converted():
        spark = _builder(master, remote, dict(settings or {})).getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
            if sys.stderr.isatty():  # overwrite a failed job's progress bar
                sys.stderr.write(f"\r{'':{get_terminal_size().columns - 1}}\r")


def _builder(
    master: str | None, remote: str | None, given: dict[str, bool | float | int | str | None]
) -> SparkSession.Builder:
    builder = SparkSession.builder.appName("tagwire")
    if remote is not None:
        return builder.remote(remote).config(map=given)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # set by spark-submit
        return builder.config(map={**_SETTINGS, **given})
    where = master or "local[*]"
    if where.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # the driver only has local connections
    bar = {"spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower()}  # no progress bar in files and pipes
    return builder.master(where).config(map={**spark_conf(), **_LOCAL, **bar, **given})


@contextmanager
def spark_errors_converted() -> Generator[None]:
    """Convert a Spark error in the `with` block to a PipelineError that names the cause."""
    try:
        yield
    except TagwireError:
        raise
    except SPARK_ERRORS as error:
        raise failure(error) from None


# Reduce the overhead of Spark's Python workers.
#
# Spark runs Python's garbage collector in a worker after each task. Visiting all imported objects would take about 20
# ms, so `settle_worker` exempts them.


@cache
def settle_worker() -> None:
    """Exempt the objects imported so far from garbage collection in this worker. Does nothing outside of a task."""
    if TaskContext.get() is not None:
        gc.collect()
        gc.freeze()
