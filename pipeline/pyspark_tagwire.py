"""Let Spark find the data source `kafka_log`.

Spark imports every module whose name begins with `pyspark_`, and reads its attribute `DefaultSource`. Only then does
this module import `tagwire_spark`.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagwire_spark.log_source import LogSource as DefaultSource

__all__ = ["DefaultSource"]


def source_finder(module: str, where: str, source: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module in which `DefaultSource` is the class `source` of the module `where`."""

    def find(name: str) -> Any:
        if name != "DefaultSource":
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        try:
            return getattr(import_module(where), source)
        except ImportError as error:
            # After an AttributeError, Spark tries the next module; any other error would end the search for a source.
            raise AttributeError(f"module {module!r} can't load DefaultSource: {error}") from error

    return find


__getattr__ = source_finder(__name__, "tagwire_spark.log_source", "LogSource")
