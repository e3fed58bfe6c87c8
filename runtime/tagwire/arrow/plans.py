"""Create column decoders and encoders, native or pure Python, and cache them by message and options."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tagwire.arrow.errors import ColumnError
from tagwire.arrow.shape import Column, ColumnSelection, message_column, with_error
from tagwire.message.engines import engine
from tagwire.message.field_table import layout_of

if TYPE_CHECKING:
    from tagwire.layout import Layout
    from tagwire.message.base import Message

_KEPT = 64
"""The maximum number of decoders or encoders in each cache."""
_SPARE_BYTES = 1 << 25
"""The maximum size, in bytes, of the free memory that native decoders, encoders and log readers keep for reuse."""
_ERRORS = ("raise", "null", "column")


class ColumnOptions(NamedTuple):
    """The options that determine a decoder or encoder. Instances are used as cache keys."""

    message: type[Message]
    versions: tuple[int, ...]
    errors: str
    paths: tuple[str, ...] | str | None = None
    unknown_tags: bool = True
    wide_unsigned: bool = False


class ArrowSchema:
    """An Arrow struct type, for libraries that accept `__arrow_c_schema__`. `str()` lists its fields."""

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


def schema_of(options: ColumnOptions) -> ArrowSchema:
    """Return the Arrow type of the columns that a decoder with these options produces."""
    return ArrowSchema(_result(_message(options), options))


def decoder_of(options: ColumnOptions) -> Any:
    """Return a column decoder. It is in pure Python if the native engine can't handle one of the layouts."""
    return _decoder(engine(), options)


def encoder_of(options: ColumnOptions) -> Any:
    """Return a column encoder. It is in pure Python if the native engine can't handle one of the layouts."""
    return _encoder(engine(), options)


@lru_cache(_KEPT)
def _decoder(engine_name: str, options: ColumnOptions) -> Any:
    message = options.message
    value = _message(options)
    root = _result(value, options)
    if engine_name == "native":
        from tagwire._columns import Decoder
        from tagwire._engine import NotNative

        try:
            return Decoder(root, value, _layouts(options), message.NAME, message.VERSIONS, spare_frames())
        except NotNative:
            pass
    from tagwire.arrow.pure import PureDecoder

    return PureDecoder(root, value, _layouts(options), message)


@lru_cache(_KEPT)
def _encoder(engine_name: str, options: ColumnOptions) -> Any:
    message = options.message
    everything = _message(ColumnOptions(message, tuple(message.VERSIONS), "raise"))
    value = Column(_name(options), "z", nullable=True)
    root = _result(value, options)
    if engine_name == "native":
        from tagwire._columns import Encoder
        from tagwire._engine import NotNative

        try:
            return Encoder(everything, root, value, _layouts(options), message.NAME, message.VERSIONS, spare_frames())
        except NotNative:
            pass
    from tagwire.arrow.pure import PureEncoder

    return PureEncoder(everything, root, value, _layouts(options), message)


@lru_cache(1)
def spare_frames() -> Any:
    """Return the pool of memory blocks that all native decoders, encoders and log readers reuse for their columns."""
    from tagwire._columns import Spares

    return Spares(_SPARE_BYTES)


def _name(options: ColumnOptions) -> str:
    return "value" if options.errors == "column" else ""


def _result(value: Column, options: ColumnOptions) -> Column:
    if options.errors not in _ERRORS:
        raise ColumnError(f"errors: expected one of {', '.join(map(repr, _ERRORS))}, got {options.errors!r}")
    return with_error(value) if options.errors == "column" else value


def _message(options: ColumnOptions) -> Column:
    selection = ColumnSelection(options.paths, unknown_tags=options.unknown_tags, wide_unsigned=options.wide_unsigned)
    return message_column(_name(options), [layout.root for layout in _layouts(options).values()], selection)


def _layouts(options: ColumnOptions) -> dict[int, Layout]:
    if not options.versions:
        raise ColumnError(f"{options.message.NAME}: pass a version, because the columns depend on it")
    return {version: layout_of(options.message, version) for version in options.versions}
