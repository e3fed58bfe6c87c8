"""The native engine, if it is installed. Tests can use it even if another engine is selected."""

from importlib import import_module
from typing import Any

import pytest

from tagwire import Message, Registry, Struct, engine
from tagwire.message.binding import FirstUse, engine_methods
from tagwire.message.record_format import RecordFormat
from tagwire.records import BatchBuilder, RecordBatch, format_set, reading

try:
    _engine: Any = import_module("tagwire._engine")
except ImportError:
    _engine = None

Plan: Any = getattr(_engine, "Plan", None)
NotNative: Any = getattr(_engine, "NotNative", None)

_METHODS = [
    (owner, name, value)
    for owner in (Struct, Message, Registry, RecordBatch, BatchBuilder)
    for name, value in vars(owner).items()
    if isinstance(value, FirstUse) and value.bind is engine_methods
]
"""The placeholder methods that the engine replaces on first use, with their classes and names.

They are saved before any object exists, so that `forget_engine` can restore them.
"""

native = pytest.mark.skipif(_engine is None, reason="this installation has no native engine")
in_use = pytest.mark.skipif(engine() != "native", reason="the native engine is not in use")

TRACED = _engine is not None and ".abi3." not in _engine.__file__
"""Whether tracemalloc sees the memory of columns. Engines built with the limited API can't report this memory."""
traces = pytest.mark.skipif(not TRACED, reason="with the stable ABI the memory of columns is not Python's")


def forget_engine() -> None:
    """Make record formats, readers of batches, and message classes choose an engine again."""
    format_set._by_name.cache_clear()
    reading._usual_readers.clear()
    reading._read_auto = reading._choose_reader
    for format in format_set._formats.values():
        vars(format).pop("plans", None)
    for record_format in RecordFormat.__subclasses__():
        if "_plan" in vars(record_format):
            del record_format._plan
    for owner, name, first in _METHODS:
        setattr(owner, name, first)
    for cls in Message.__subclasses__():
        if vars(cls).get("_codec", cls) is None:
            for name in (*cls._bound, "_bound", "_codec"):
                delattr(cls, name)
        for version in [version for version, serializer in cls._serializers.items() if isinstance(serializer, type)]:
            del cls._serializers[version]
