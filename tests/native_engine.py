"""The native engine, where the installation has one: then it is tested whether it is the one in use or not."""

from importlib import import_module
from typing import Any

import pytest

from tagwire import Message

__all__ = ["NotNative", "Plan", "forget_python_serializers", "native"]

try:
    _engine: Any = import_module("tagwire._engine")
except ImportError:
    _engine = None

Plan: Any = getattr(_engine, "Plan", None)
NotNative: Any = getattr(_engine, "NotNative", None)

native = pytest.mark.skipif(_engine is None, reason="this installation has no native engine")


def forget_python_serializers() -> None:
    """Messages keep what first serialized a version: let those choose again that met a test with the pure engine."""
    classes = [Message]
    for cls in classes:
        classes += cls.__subclasses__()
        chosen = vars(cls).get("_serializers", {})
        for version in [version for version, serializer in chosen.items() if isinstance(serializer, type)]:
            del chosen[version]
