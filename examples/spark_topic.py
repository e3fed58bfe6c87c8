"""Write the records of a Kafka topic to tables: one for each type of message, and one for invalid records.

    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0 \\
        examples/spark_topic.py localhost:9092 requests tables

Use the jar for your version of PySpark. The jar of 4.2.0 also works with 4.3.0.

Each record names its message and version in headers, as `message: HeartbeatRequest` and `version: 4`. The stream writes
`tables/HeartbeatRequest/batch=0` and so on. Records that can't be decoded go to the table `tables/bad`, with their
bytes and the reason. The query reads the available data and ends; the next run continues from there. A micro-batch that
runs twice replaces its own folders, so rows are not duplicated.

Python decodes each record only once, as the message that its headers name. `tables` accepts any stream with the columns
of Spark's Kafka source. `kafka_log` has these columns, so tests and replays need no broker.
"""

import sys
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from tagwire_spark import decode_messages, spark_conf

MESSAGES: Final = {
    "HeartbeatRequest": ["group_id", "generation_id", "member_id"],
    "OffsetCommitRequest": ["group_id", "topics.name", "topics.partitions.committed_offset"],
}
"""The messages that are written to tables, and the fields that become columns."""
PLACE: Final = ["topic", "partition", "offset", "timestamp"]
"""The columns that identify the record, in every table."""


def records_of_topic(spark: SparkSession, servers: str, topic: str) -> DataFrame:
    """Read a topic from its beginning as a stream of records with headers."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    return reader.options(startingOffsets="earliest", includeHeaders="true").load()


def tables(records: DataFrame, folder: str) -> StreamingQuery:
    """Start a query that decodes a stream of records and writes them to tables in a folder."""
    named = records.withColumns({"name": header("message"), "version": header("version").try_cast("int")})

    def write(batch: DataFrame, number: int) -> None:
        batch.persist()
        try:
            for name, fields in MESSAGES.items():
                decoded = decode_messages(
                    batch.where(F.col("name") == name),
                    name,
                    "version",
                    {"mode": "PERMISSIVE"},
                    fields=fields,
                    keep=[*PLACE, "value"],
                ).persist()  # two tables are written from these rows; decode them only once
                good = decoded.where("message is not null and message._error is null")
                save(good.select(*PLACE, "message.*").drop("_error"), folder, name, number)
                reason = F.concat_ws(" ", "message._error.path", "message._error.reason")
                reason = F.when(F.col("message").isNull(), "no value").otherwise(reason)
                bad = decoded.where("message is null or message._error is not null")
                save(bad.select(*PLACE, "value", reason.alias("reason")), folder, f"bad/message={name}", number)
                decoded.unpersist()
            unknown = batch.where(F.coalesce(~F.col("name").isin(*MESSAGES), F.lit(True)))
            reason = F.concat(F.lit("the header message is "), F.coalesce("name", F.lit("missing")))
            save(unknown.select(*PLACE, "value", reason.alias("reason")), folder, "bad/message=unknown", number)
        finally:
            batch.unpersist()

    query = named.writeStream.foreachBatch(write).option("checkpointLocation", f"{folder}/_checkpoint")
    return query.trigger(availableNow=True).start()


def header(name: str) -> Column:
    """Return the last header of this name as a string; null if there is none."""
    found = F.filter("headers", lambda each: each["key"] == name)
    return F.try_element_at(found, F.lit(-1))["value"].cast("string")


def save(rows: DataFrame, folder: str, table: str, number: int) -> None:
    """Write the rows of micro-batch `number`, and replace any rows that an earlier attempt wrote."""
    rows.write.mode("overwrite").parquet(f"{folder}/{table}/batch={number}")


if __name__ == "__main__":
    servers, topic, folder = sys.argv[1:]
    spark = SparkSession.builder.appName("topic").config(map={**spark_conf()}).getOrCreate()
    tables(records_of_topic(spark, servers, topic), folder).awaitTermination()
