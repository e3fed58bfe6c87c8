"""Let Spark find the data source `kafka_rpc`, as `pyspark_tagwire` does for `kafka_log`."""

from typing import TYPE_CHECKING

from pyspark_tagwire import source_finder

if TYPE_CHECKING:
    from tagwire_spark.rpc_source import RpcSource as DefaultSource

__all__ = ["DefaultSource"]

__getattr__ = source_finder(__name__, "tagwire_spark.rpc_source", "RpcSource")
