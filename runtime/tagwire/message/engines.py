"""Choose the engine that encodes and decodes messages.

The native engine is an extension module, `tagwire._engine`, which follows the layout of a version. The pure engine
consists of generated Python classes, the serializers. Both accept, reject and write the same bytes and values. If one
rejects its input, the layout interpreter finds out where and why. The native engine is used if it is available. Set the
environment variable TAGWIRE_ENGINE to native or python to require an engine.
"""

from __future__ import annotations

import os
from importlib import import_module

from tagwire.errors import TagwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Literal, TypeVar

    from tagwire._engine import Plan
    from tagwire.layout import Layout
    from tagwire.message.base import Message
    from tagwire.message.serializer import Serializer

    M = TypeVar("M", bound="Message")


class EngineError(TagwireError):
    """Raised if TAGWIRE_ENGINE names an engine that is not available."""


class DisagreementError(TagwireError):
    """Raised if the native engine rejects input that the interpreter accepts.

    The engines must agree, so this is a bug in tagwire, unless another thread modified the value during encoding.
    `layout` is the message's layout.
    """

    def __init__(self, layout: Layout, rejected: str) -> None:
        super().__init__(
            f"{layout}: the native engine rejected {rejected}, but the interpreter accepts it. Unless another thread "
            "changed the value, this is a bug in tagwire. Please report it; to avoid the native engine, set "
            "TAGWIRE_ENGINE=python"
        )
        self.layout = layout


def engine() -> Literal["native", "python"]:
    """Return the engine in use. Raises EngineError if TAGWIRE_ENGINE names an unavailable one."""
    return "python" if native_engine() is None else "native"


def native_engine() -> ModuleType | None:
    """Return the native engine's module, or None if the pure-Python engine is in use.

    Raises EngineError if TAGWIRE_ENGINE names an unavailable engine.
    """
    requested = os.environ.get("TAGWIRE_ENGINE")
    if requested == "python":
        return None
    if requested and requested != "native":
        raise EngineError(f"TAGWIRE_ENGINE: expected 'native' or 'python', got {requested!r}")
    try:
        # An import statement is faster than `import_module`.
        import tagwire._engine as native
    except ImportError as cause:
        if requested:
            raise EngineError(
                f"TAGWIRE_ENGINE=native, but this installation has no native engine ({cause}); unset the variable, or "
                "set it to 'python'"
            ) from cause
        return None
    return native


def serializer_of(message: type[M], version: int) -> type[Serializer[M]]:
    """Return the serializer of a version: from the native engine if possible, otherwise a generated class."""
    if engine() == "native":
        from tagwire.message.field_table import layout_of

        plan = native_plan(layout_of(message, version))
        if plan is not None:
            return plan  # type: ignore[return-value]
    return python_serializer(message, version)


def native_plan(layout: Layout) -> Plan | None:
    """Return the native engine's plan for a layout, or None if the engine doesn't support it, or is not in use."""
    if engine() == "python":
        return None
    from tagwire._engine import NotNative, Plan

    try:
        return Plan(layout)
    except NotNative:
        return None


def python_serializer(message: type[M], version: int) -> type[Serializer[M]]:
    """Return the generated serializer class of a message version.

    If there is no such class, return one that uses the layout interpreter.
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
    """Return why the native engine can't encode and decode this version, or "" if it can, or if it isn't in use."""
    if engine() == "python":
        return ""
    from tagwire._engine import NotNative, Plan
    from tagwire.message.field_table import layout_of

    try:
        Plan(layout_of(message, version))
    except NotNative as obstacle:
        return str(obstacle)
    return ""
