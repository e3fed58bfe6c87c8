"""Make and cache the column decoders and encoders of messages, for the engine in use."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tagwire.arrow.errors import ColumnError
from tagwire.arrow.shape import Column, Selection, message_column, with_error
from tagwire.message.engines import engine
from tagwire.message.field_table import layout_of

if TYPE_CHECKING:
    from tagwire.layout import Layout
    from tagwire.message.base import Message

_KEPT = 64
"""The number of cached decoders and encoders: more than the kinds of messages in one job."""
_SPARE_BYTES = 1 << 25
"""The spare memory that all native plans and log readers together keep for their next results."""
_ERRORS = ("raise", "null", "column")


class Wanted(NamedTuple):
    """The arguments that determine a decoder's or encoder's columns, as a hashable key."""

    message: type[Message]
    versions: tuple[int, ...]
    errors: str
    paths: tuple[str, ...] | str | None = None
    unknown_tags: bool = True
    wide_unsigned: bool = False


class ArrowSchema:
    """An Arrow struct type, for libraries that accept `__arrow_c_schema__`. `str()` shows it."""

    def __init__(self, column: Column) -> None:
        self.column = column

    def __arrow_c_schema__(self) -> Any:
        if engine() == "native":
            from tagwire._columns import export_schema
        else:
            from tagwire.arrow.pure import export_schema
        return export_schema(self.column)

    def __str__(self) -> str:
        return "\n".join(map(str, self.column.children))

    def __repr__(self) -> str:
        return f"<{self.column.type_text}>"


def schema_of(wanted: Wanted) -> ArrowSchema:
    """Return the type of the columns that `decoder_of` decodes."""
    return ArrowSchema(_result(_message(wanted), wanted))


def decoder_of(wanted: Wanted) -> Any:
    """Return the column decoder: pure Python without the native engine or for layouts that it does not support."""
    return _decoder(engine(), wanted)


def encoder_of(wanted: Wanted) -> Any:
    """Return the column encoder; see `decoder_of`."""
    return _encoder(engine(), wanted)


@lru_cache(_KEPT)
def _decoder(engine_name: str, wanted: Wanted) -> Any:
    message = wanted.message
    value = _message(wanted)
    root = _result(value, wanted)
    if engine_name == "native":
        from tagwire._columns import Decoder
        from tagwire._engine import NotNative

        try:
            return Decoder(root, value, _layouts(wanted), message.NAME, message.VERSIONS, spare_frames())
        except NotNative:
            pass
    from tagwire.arrow.pure import PureDecoder

    return PureDecoder(root, value, _layouts(wanted), message)


@lru_cache(_KEPT)
def _encoder(engine_name: str, wanted: Wanted) -> Any:
    message = wanted.message
    everything = _message(Wanted(message, tuple(message.VERSIONS), "raise"))
    value = Column(_name(wanted), "z", nullable=True)
    root = _result(value, wanted)
    if engine_name == "native":
        from tagwire._columns import Encoder
        from tagwire._engine import NotNative

        try:
            return Encoder(everything, root, value, _layouts(wanted), message.NAME, message.VERSIONS, spare_frames())
        except NotNative:
            pass
    from tagwire.arrow.pure import PureEncoder

    return PureEncoder(everything, root, value, _layouts(wanted), message)


@lru_cache(1)
def spare_frames() -> Any:
    """Return the memory of released native columns, which everything that makes such columns shares."""
    from tagwire._columns import Spares

    return Spares(_SPARE_BYTES)


def _name(wanted: Wanted) -> str:
    return "value" if wanted.errors == "column" else ""


def _result(value: Column, wanted: Wanted) -> Column:
    """Return the column of a result: the values, or structs of values and errors."""
    if wanted.errors not in _ERRORS:
        raise ColumnError(f"errors: expected {', '.join(map(repr, _ERRORS))}, got {wanted.errors!r}")
    return with_error(value) if wanted.errors == "column" else value


def _message(wanted: Wanted) -> Column:
    selection = Selection(wanted.paths, unknown_tags=wanted.unknown_tags, wide_unsigned=wanted.wide_unsigned)
    return message_column(_name(wanted), [layout.root for layout in _layouts(wanted).values()], selection)


def _layouts(wanted: Wanted) -> dict[int, Layout]:
    if not wanted.versions:
        raise ColumnError(f"{wanted.message.NAME}: no version was given, so there are no columns")
    return {version: layout_of(wanted.message, version) for version in wanted.versions}
