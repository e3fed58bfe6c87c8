"""Use Kafka's formats in Spark: functions decode and encode messages, and data sources read logs and captured frames.

    from_message, to_message, schema_of_message     decode and encode a column of messages, as from_protobuf does
    decode_messages                                 decode the messages in a whole DataFrame
    from_record                                     decode the records of coordinator and metadata logs
    register                                        add from_message, to_message and from_record to SQL
    from_message_udf, to_message_udf, from_record_udf   make a UDF for one message or log, for SQL under any name
    in_log_order                                    sort a DataFrame before writing it to kafka_log
    spark_conf                                      return the recommended session settings
    error_in                                        extract a worker's PipelineError from a Spark error
    spark.read.format("kafka_log")                  read log segments; df.write writes them
    spark.read.format("kafka_rpc")                  read captured requests and responses

Spark finds both sources by name; nothing needs to be registered. docs/spark.md is the guide. Everything here works with
Spark Connect. Requires the extra `spark`.
"""

from tagwire.errors import MissingExtraError
from tagwire.lazy import required

for _library in ("pyarrow", "pyspark"):
    _module = required(_library, "spark")

if tuple(map(int, _module.__version__.split(".")[:2])) < (4, 2):  # the cluster's PySpark may be older
    raise MissingExtraError("pyspark", "spark", f"expected PySpark 4.2 or later, got {_module.__version__}")

# ruff: noqa: E402 - imported only after the checks above
from tagwire_spark.columns.functions import (
    decode_messages,
    from_message,
    from_message_udf,
    from_record,
    from_record_udf,
    in_log_order,
    schema_of_message,
    to_message,
    to_message_udf,
)
from tagwire_spark.columns.sql_functions import register
from tagwire_spark.errors import CONDITIONS, PipelineError, error_in
from tagwire_spark.session import spark_conf

__all__ = [
    "CONDITIONS",
    "PipelineError",
    "decode_messages",
    "error_in",
    "from_message",
    "from_message_udf",
    "from_record",
    "from_record_udf",
    "in_log_order",
    "register",
    "schema_of_message",
    "spark_conf",
    "to_message",
    "to_message_udf",
]
