"""The settings of a Spark session that matter for what Python does in it.

Measured with PySpark 4.3: a small task costs 25 ms by loopback TCP, and 4 to 5 by a
Unix socket; sources can push filters down only where it is switched on. Two
settings are their defaults, and are named because the other value costs dear:
a new worker for each task, and functions in a pipeline, which fails now and
then with workers that are used again.
"""

import sys
from typing import Final

__all__ = ["spark_conf"]

_SETTINGS: Final = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.python.worker.reuse": "true",
    "spark.python.udf.pipelined.enabled": "false",
}


def spark_conf() -> dict[str, str]:
    """Settings for `SparkSession.builder.config(map=spark_conf())`.

    Workers on this machine run the interpreter of the driver. Take
    `spark.pyspark.python` out where workers have theirs somewhere else.
    """
    return {**_SETTINGS, "spark.pyspark.python": sys.executable}
