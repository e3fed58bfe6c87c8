"""Which engine serializes: one place that knows, so that another one plugs in here alone.

The environment variable TAGWIRE_ENGINE=native|python forces one.
"""

from __future__ import annotations

import os
from importlib import import_module

from tagwire.errors import TagwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeVar

    from tagwire.message import Message
    from tagwire.serializer import Serializer

    M = TypeVar("M", bound="Message")

__all__ = ["EngineError", "engine", "serializer_of"]


class EngineError(TagwireError):
    """TAGWIRE_ENGINE asks for an engine that is not there."""


def engine() -> Literal["native", "python"]:
    """The engine in use. Raises EngineError where TAGWIRE_ENGINE asks for another."""
    wanted = os.environ.get("TAGWIRE_ENGINE") or "python"
    if wanted not in ("native", "python"):
        raise EngineError(f"TAGWIRE_ENGINE is {wanted!r}; 'native' or 'python' was expected")
    if wanted == "native":
        raise EngineError("TAGWIRE_ENGINE=native, but this installation has no native engine; unset it or use 'python'")
    return "python"


def serializer_of(message: type[M], version: int) -> type[Serializer[M]]:
    """The generated serializer class of a message's version, from the module beside the data class's."""
    engine()
    package, _, module = message.__module__.rpartition(".")
    serializers: dict[int, type[Serializer[Any]]] = import_module(f"{package}.serializers.{module}").SERIALIZERS
    return serializers[version]
