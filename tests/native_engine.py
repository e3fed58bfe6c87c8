"""The native engine, where the installation has one: then it is tested whether it is the one in use or not."""

from importlib import import_module
from typing import Any

import pytest

__all__ = ["NotNative", "Plan", "native"]

try:
    _engine: Any = import_module("tagwire._engine")
except ImportError:
    _engine = None

Plan: Any = getattr(_engine, "Plan", None)
NotNative: Any = getattr(_engine, "NotNative", None)

native = pytest.mark.skipif(_engine is None, reason="this installation has no native engine")
