"""Summarize a day of a topic from copied log segments: counts of valid messages, a table of invalid ones, and a plot.

    spark-submit examples/spark_day.py /mnt/kafka requests report [FORMAT]

The topic contains heartbeat requests in version 4. `report/by_hour` has their counts by hour and group, and
`report/invalid` has the records that can't be decoded, with the reason. `report/day.svg` is a plot of the counts.
FORMAT is the format of the tables: `parquet`, or another format that Spark can write to a path, such as `delta`.
"""

import sys
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tagwire_spark import from_message, spark_conf


def summarize(spark: SparkSession, logs: str, topic: str, report: str, table_format: str = "parquet") -> None:
    """Write the two tables and the plot."""
    source = spark.read.format("kafka_log").option("subscribe", topic)
    records = source.schema("partition int, offset long, timestamp timestamp, value binary").load(logs)
    message = from_message("value", "HeartbeatRequest", 4, {"mode": "PERMISSIVE"})
    decoded = records.withColumn("message", message).persist()
    is_valid = F.coalesce(F.col("message").isNotNull() & F.col("message._error").isNull(), F.lit(False))
    invalid = decoded.where(~is_valid).withColumn("reason", F.coalesce("message._error.reason", F.lit("no value")))
    hour = F.date_format("timestamp", "yyyy-MM-dd HH:00").alias("hour")
    by_hour = decoded.where(is_valid).groupBy(hour, F.col("message.group_id").alias("group")).count()
    for name, rows in (("invalid", invalid.drop("message")), ("by_hour", by_hour)):
        rows.write.format(table_format).mode("overwrite").save(f"{report}/{name}")
    counts = Counter[str]()
    for row in spark.read.format(table_format).load(f"{report}/by_hour").collect():  # small: a few rows per hour
        counts[row["hour"]] += row["count"]
    Path(report, "day.svg").write_text(plot(sorted(counts.items())), encoding="utf-8")
    decoded.unpersist()


def plot(bars: list[tuple[str, int]]) -> str:
    """Return an SVG image with a horizontal bar for each label."""
    most = max((count for _, count in bars), default=1)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{20 * len(bars) + 10}" font-size="12">']
    for number, (label, count) in enumerate(bars):
        y = 20 * number + 18
        lines.append(f'<text x="5" y="{y}">{label}</text><text x="{145 + 440 * count // most}" y="{y}">{count}</text>')
        lines.append(f'<rect x="140" y="{y - 12}" width="{440 * count // most}" height="14" fill="#4878a8"/>')
    return "\n".join([*lines, "</svg>\n"])


if __name__ == "__main__":
    session = SparkSession.builder.appName("day").config(map={**spark_conf()}).getOrCreate()
    summarize(session, *sys.argv[1:])
