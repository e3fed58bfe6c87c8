"""The Spark pipeline, measured: `python bench/spark/run.py`. Everything in one run, on two cores, as ratios.

    python bench/spark/run.py logs                       the source kafka_log, Parquet beside it
    python bench/spark/run.py jobs                       the jobs convert and compact
    python bench/spark/run.py logs --study DIR           and those of the study that came before it
    python bench/spark/run.py messages                   our functions, and what else decodes columns of bytes

Needs Java 17 and a few gigabytes in `--data`. docs/spark.md explains the figures.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from jars import AVRO, PROTOBUF, RECORDS, find_jars, settings_of
from jobs import job_contenders
from logs import LOG_RATIOS, log_contenders, with_study
from measure import best, middle, peak_of_workers, ratio_of, rounds
from message_samples import with_package
from messages import measure_messages
from samples import LOG_BYTES, make_log

__all__ = ["main"]

_CONTENDERS: Final = {"logs": log_contenders, "jobs": job_contenders}


def main() -> None:
    """Measure what is asked for, and print a table."""
    options = _options()
    (_messages if options.what == "messages" else _logs)(options)


def _messages(options: Any) -> None:
    jars = find_jars(AVRO, PROTOBUF)
    with_package(options.data)
    spark = _session(options.data.absolute(), settings_of(jars))
    measure_messages(spark, options, jars)
    spark.stop()


def _logs(options: Any) -> None:
    if options.study:
        with_study(options.study.absolute())
    options.data.mkdir(parents=True, exist_ok=True)
    os.chdir(options.data)
    jars = find_jars(RECORDS) if options.what == "logs" else {}
    spark = _session(options.data.absolute(), settings_of(jars))
    log = make_log(options.data.absolute() / "events-0", options.bytes)
    contenders, size = _CONTENDERS[options.what](spark, log, options.study, jars), _size(log)
    taken = rounds(contenders, options.rounds, options.only or ())
    print(f"{'medians of rounds':48}{'wall s':>8}{'MB/s':>8}{'JVM s':>8}{'Python s':>10}{'best wall s':>13}")
    for name, each in taken.items():
        wall, jvm, python = middle(each)
        print(f"{name:48}{wall:8.2f}{size / wall / 1e6:8.0f}{jvm:8.2f}{python:10.2f}{best(each).wall:13.2f}")
    for ours, other in LOG_RATIOS:
        if ours in taken and other in taken:
            print(f"{ours} / {other}: {ratio_of(taken[ours], taken[other])}")
    print(f"the largest worker had {peak_of_workers() / 1e6:.0f} MB")
    spark.stop()


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("logs", "jobs", "messages"))
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir(), "tagwire-bench-spark"))
    parser.add_argument("--bytes", type=int, default=LOG_BYTES, help="of the log")
    parser.add_argument("--messages", type=int, default=2_000_000, help="how many of each shape")
    parser.add_argument("--study", type=Path, help="the folder of the study's modules kds, kds2 and kdec")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", help="contenders with this in their names; may be repeated")
    return parser.parse_args()


def _session(data: Path, others: "dict[str, str] | None" = None) -> Any:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # by which Spark looks for sources
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled beforehand, as those of an installation
    os.environ["PYTHONPYCACHEPREFIX"] = str(data / "compiled")
    from pyspark.sql import SparkSession

    from tagwire_spark import spark_conf

    settings = {
        "spark.driver.memory": "4g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    spark = (
        SparkSession.builder.master("local[2]").config(map={**spark_conf(), **settings, **(others or {})}).getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def _size(log: Path) -> int:
    return sum(path.stat().st_size for path in log.glob("*.log"))


if __name__ == "__main__":
    sys.exit(main())
