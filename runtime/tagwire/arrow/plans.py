"""What decodes and encodes the columns of a message: made once for the same arguments, by the engine that is in use."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tagwire.arrow.errors import ColumnError
from tagwire.arrow.shape import Column, Selection, message_column, with_error
from tagwire.engines import engine
from tagwire.rows import layout_of

if TYPE_CHECKING:
    from tagwire.layout import Layout
    from tagwire.message import Message

__all__ = ["ArrowSchema", "decoder_of", "encoder_of", "schema_of"]

_KEPT = 64
"""Plans that are kept: more than a job has kinds of messages."""
_ERRORS = ("raise", "null", "column")


class ArrowSchema:
    """An Arrow type: a struct, for whoever takes `__arrow_c_schema__`. `str()` shows it."""

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


def schema_of(
    message: type[Message],
    versions: tuple[int, ...],
    paths: tuple[str, ...] | str | None,
    errors: str,
    unknown_tags: bool,
    wide_unsigned: bool,
) -> ArrowSchema:
    """See `tagwire.arrow.schema`."""
    value, _ = _column(message, versions, paths, unknown_tags, wide_unsigned)
    return ArrowSchema(_result(value, errors))


def decoder_of(
    message: type[Message],
    versions: tuple[int, ...],
    paths: tuple[str, ...] | str | None,
    errors: str,
    unknown_tags: bool,
    wide_unsigned: bool,
) -> Any:
    """What decodes columns of a message: native, or pure where the native engine is not there or refuses a layout."""
    return _decoder(engine(), message, versions, paths, errors, unknown_tags, wide_unsigned)


@lru_cache(_KEPT)
def _decoder(
    engine_name: str,
    message: type[Message],
    versions: tuple[int, ...],
    paths: tuple[str, ...] | str | None,
    errors: str,
    unknown_tags: bool,
    wide_unsigned: bool,
) -> Any:
    value, layouts = _column(message, versions, paths, unknown_tags, wide_unsigned)
    root = _result(value, errors)
    if engine_name == "native":
        from tagwire._columns import Decoder
        from tagwire._engine import NotNative

        try:
            return Decoder(root, value, layouts, message.NAME, message.VERSIONS)
        except NotNative:
            pass
    from tagwire.arrow.pure import PureDecoder

    return PureDecoder(root, value, layouts, message)


def encoder_of(message: type[Message], versions: tuple[int, ...], errors: str) -> Any:
    """What encodes columns of a message; see `decoder_of`."""
    return _encoder(engine(), message, versions, errors)


@lru_cache(_KEPT)
def _encoder(engine_name: str, message: type[Message], versions: tuple[int, ...], errors: str) -> Any:
    layouts = _layouts(message, versions)
    everything, _ = _column(message, tuple(message.VERSIONS), None, True, False)
    value = Column("value" if errors == "column" else "", "z", nullable=True)
    root = _result(value, errors)
    if engine_name == "native":
        from tagwire._columns import Encoder
        from tagwire._engine import NotNative

        try:
            return Encoder(everything, root, value, layouts, message.NAME, message.VERSIONS)
        except NotNative:
            pass
    from tagwire.arrow.pure import PureEncoder

    return PureEncoder(everything, root, value, layouts, message)


def _result(value: Column, errors: str) -> Column:
    """The column of a result: its values, or those and their errors."""
    if errors not in _ERRORS:
        raise ColumnError(f"errors is {errors!r}; {', '.join(map(repr, _ERRORS))} was expected")
    if errors != "column":
        return value
    value.name = "value"
    return with_error(value)


def _layouts(message: type[Message], versions: tuple[int, ...]) -> dict[int, Layout]:
    if not versions:
        raise ColumnError(f"{message.NAME}: no version was given, so there are no columns")
    return {version: layout_of(message, version) for version in versions}


def _column(
    message: type[Message],
    versions: tuple[int, ...],
    paths: tuple[str, ...] | str | None,
    unknown_tags: bool,
    wide_unsigned: bool,
) -> tuple[Column, dict[int, Layout]]:
    layouts = _layouts(message, versions)
    selection = Selection(paths, unknown_tags=unknown_tags, wide_unsigned=wide_unsigned)
    return message_column("", [layout.root for layout in layouts.values()], selection), layouts
