"""Which engine serializes: the one place that knows.

There are two. The native one is an extension module (`tagwire._engine`) that goes by the layout of a version; the pure
one is the generated serializers. Both read and write the same and refuse the same; when either refuses, the layout's
interpreter says where. The native one is taken where it is there; the environment variable TAGWIRE_ENGINE=native|python
forces one.
"""

from __future__ import annotations

import os
from importlib import import_module

from tagwire.errors import TagwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Literal, TypeVar

    from tagwire.layout import Layout
    from tagwire.message.base import Message
    from tagwire.message.serializer import Serializer

    M = TypeVar("M", bound="Message")

__all__ = [
    "DisagreementError",
    "EngineError",
    "engine",
    "native_engine",
    "native_obstacle",
    "python_serializer",
    "serializer_of",
]


class EngineError(TagwireError):
    """TAGWIRE_ENGINE names an engine that is not available."""


class DisagreementError(TagwireError):
    """The native engine refused what the interpreter accepts.

    A bug of tagwire, unless a value was changed while it was being encoded. `layout` is the message's.
    """

    def __init__(self, layout: Layout, what: str) -> None:
        super().__init__(
            f"{layout}: the native engine refused {what}, but the interpreter accepts it. If the value was not changed "
            "meanwhile, this is a bug of tagwire: please report it; TAGWIRE_ENGINE=python does without that engine"
        )
        self.layout = layout


def engine() -> Literal["native", "python"]:
    """Return the engine in use. Raises EngineError if TAGWIRE_ENGINE names an unavailable one."""
    return "python" if native_engine() is None else "native"


def native_engine() -> ModuleType | None:
    """The module of the native engine, None where the pure engine is in use. Raises as `engine` does."""
    wanted = os.environ.get("TAGWIRE_ENGINE")
    if wanted == "python":
        return None
    if wanted and wanted != "native":
        raise EngineError(f"TAGWIRE_ENGINE: expected 'native' or 'python', got {wanted!r}")
    try:
        import tagwire._engine as native  # quicker than `import_module`: each call asks
    except ImportError as fault:
        if wanted:
            raise EngineError(
                f"TAGWIRE_ENGINE=native, but this installation has no native engine ({fault}); unset it or use 'python'"
            ) from fault
        return None
    return native


# ---------------------------------------------------------------- serializers


def serializer_of(message: type[M], version: int) -> type[Serializer[M]]:
    """What encodes and decodes a version: the native engine's plan, or the class of the pure engine."""
    if engine() == "native":
        from tagwire._engine import NotNative, Plan
        from tagwire.message.field_table import layout_of

        try:
            return Plan(layout_of(message, version))  # type: ignore[return-value]
        except NotNative:
            pass  # native_obstacle says why
    return python_serializer(message, version)


def python_serializer(message: type[M], version: int) -> type[Serializer[M]]:
    """The generated serializer class of a message's version, from the module beside the data class's.

    A class without one gets a serializer that goes by its layout.
    """
    from tagwire.message.serializer import LayoutSerializer

    found = _generated(message).get(version)
    if found is not None and found.MESSAGE is message:
        return found
    return type(f"{message.NAME}V{version}", (LayoutSerializer,), {"MESSAGE": message, "VERSION": version})


def _generated(message: type[Message]) -> dict[int, type[Serializer[Any]]]:
    package, _, module = message.__module__.rpartition(".")
    name = f"{package}.serializers.{module}"
    if not package:
        return {}
    try:
        serializers: dict[int, type[Serializer[Any]]] = import_module(name).SERIALIZERS
    except ModuleNotFoundError as missing:
        if missing.name not in (f"{package}.serializers", name):
            raise
        return {}
    return serializers


def native_obstacle(message: type[Message], version: int) -> str:
    """Why the pure engine has this version although the native one is in use; "" where that is not so."""
    if engine() == "python":
        return ""
    from tagwire._engine import NotNative, Plan
    from tagwire.message.field_table import layout_of

    try:
        Plan(layout_of(message, version))
    except NotNative as obstacle:
        return str(obstacle)
    return ""
