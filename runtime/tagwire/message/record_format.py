"""The base class of generated record formats.

Each format is a class with a single layout. Programs don't use these classes: `tagwire.records` finds formats by name.
Encoding and decoding use the native engine if it supports the layout, otherwise the interpreter.
"""

from __future__ import annotations

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.message.declarations import field
from tagwire.message.field_table import layout_of_format
from tagwire.message.struct_class import Struct
from tagwire.wire.unknown_tags import NO_TAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, TypeVar

    from tagwire._engine import Plan
    from tagwire.layout import Layout

    F = TypeVar("F", bound="RecordFormat")


class FormatStruct(Struct):
    """A struct in a record format. It has no unknown tags."""

    __slots__ = ()

    HAS_TAGS: ClassVar[bool] = False
    if TYPE_CHECKING:
        unknown_tags: Mapping[int, bytes] = field("", "", "", default=NO_TAGS, init=False)


class RecordFormat(FormatStruct):
    """The base class of record formats. An object is a decoded batch (v2, v3) or message-set entry (v0, v1).

    Lengths, counts and checksums are not stored: decoding verifies them, and encoding computes them.
    """

    __slots__ = ()

    NAME: ClassVar[str]
    """The format's name in its spec."""
    KIND: ClassVar[str] = "format"
    FORMAT: ClassVar[str]
    """The short name of the format, such as `v2`."""
    DISCRIMINATOR: ClassVar[str] = ""
    """The attribute whose value identifies this format, usually the magic byte, or "" if there is no such attribute."""

    _layout: ClassVar[Layout]
    _plan: ClassVar[Plan | None]

    @classmethod
    def layout(cls) -> Layout:
        """Return the format's layout. The layout's version is None."""
        return layout_of_format(cls)

    @classmethod
    def decode(cls: type[F], data: Any, *, strict: bool = True, limits: Limits = DEFAULT_LIMITS) -> F:
        """Decode and decompress `data` (any bytes-like object), which must contain exactly one batch or message.

        Raises DecodeError for invalid data, and LimitError if `data` exceeds `limits`.
        """
        from tagwire.interpreter.reader import decode
        from tagwire.wire.buffers import as_bytes

        plan = cls._native_plan()
        if plan is not None:
            result: F = plan.decode(data, strict=strict, limits=limits)
            return result
        value, _ = decode(cls.layout(), as_bytes(data), whole=True, strict=strict, limits=limits)
        found: F = value
        return found

    def encode(self) -> bytes:
        """Encode, computing all lengths, counts and checksums. Raises EncodeError for an invalid value."""
        from tagwire.interpreter.writer import encode

        plan = self._native_plan()
        return encode(self.layout(), self) if plan is None else plan.encode(self)

    def encoded_size(self) -> int:
        """Return the number of bytes that `encode` would return. Raises the same errors as `encode`."""
        from tagwire.interpreter.writer import encoded_size

        plan = self._native_plan()
        return encoded_size(self.layout(), self) if plan is None else plan.encoded_size(self)

    @classmethod
    def _native_plan(cls) -> Plan | None:
        if "_plan" not in cls.__dict__:
            from tagwire.message.engines import engine

            plan = None
            if engine() == "native":
                from contextlib import suppress

                from tagwire._engine import NotNative, Plan

                with suppress(NotNative):
                    plan = Plan(cls.layout())
            cls._plan = plan  # set only once, because other threads may read `_plan`
        return cls._plan
