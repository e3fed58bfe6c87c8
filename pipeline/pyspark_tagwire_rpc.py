"""Let Spark find the data source `kafka_rpc`.

Spark imports every module whose name begins with `pyspark_`, and reads its attribute `DefaultSource`. Only then does
this module import `tagwire_spark`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagwire_spark.rpc_source import RpcSource as DefaultSource

__all__ = ["DefaultSource"]


def __getattr__(name: str) -> Any:
    if name != "DefaultSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from tagwire_spark.rpc_source import RpcSource
    except ImportError as error:
        # After an AttributeError, Spark tries the next module; any other error would end the search for a data source.
        raise AttributeError(f"module {__name__!r} can't load DefaultSource: {error}") from error
    return RpcSource
