"""Find the values that a version can't represent.

They are found by encoding with a `LayoutWriter`, so the result always agrees with `encode`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tagwire.errors import EncodeError
from tagwire.interpreter.cursor import dotted
from tagwire.interpreter.value_walk import differs, present_alternatives
from tagwire.interpreter.writer import LayoutWriter
from tagwire.layout import Layout, StructLayout, TaggedSection, Type, fresh
from tagwire.lazy import FrozenData
from tagwire.message.declarations import attributes_of
from tagwire.message.field_table import layout_of
from tagwire.text_format import shown
from tagwire.versions import NONE, Versions
from tagwire.wire.buffers import ByteCount
from tagwire.wire.unknown_tags import NO_TAGS

if TYPE_CHECKING:
    from dataclasses import KW_ONLY

    from tagwire.message.base import Message

_STEP: Final = re.compile(r"[.\[\]]+")


class Loss(FrozenData):
    """A value that a version can't represent.

    `path` has the same form as in errors (`topics[0].topic_id`). If `ignorable` is true, encoding silently drops the
    value; otherwise, encoding raises an error.
    """

    path: str
    value: Any
    _: KW_ONLY
    ignorable: bool

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Loss({self.path!r}, {self.value!r}, ignorable={self.ignorable})"


def losses(message: Message, version: int) -> tuple[Loss, ...]:
    """Return the values of `message` that `version` would drop or reject, in wire order, or empty if there are none.

    Raises UnsupportedVersionError for an unknown version.
    """
    writer = _Losses(layout_of(type(message), version))
    writer.message(message, ByteCount())
    return tuple(writer.found)


def supported_versions(message: Message | type[Message]) -> Versions:
    """Return the versions that can represent every value of `message`, or `NONE` if there is no such version.

    For a message class, return all its versions.
    """
    if isinstance(message, type):
        return message.VERSIONS
    # If the versions without losses form two ranges, return the higher range.
    lowest = highest = -1
    for version in reversed(list(message.VERSIONS)):
        if not losses(message, version):
            lowest, highest = version, max(highest, version)
        elif highest >= 0:
            break
    return NONE if highest < 0 else Versions(lowest, highest)


def encode_with(message: Message, version: int, *, on_loss: str = "drop") -> bytes:
    """Encode a message. If `on_loss` is "error", raise EncodeError for a value that the version would drop."""
    name = type(message).NAME
    if on_loss not in ("drop", "error"):
        reason = f"on_loss: expected 'drop' or 'error', got {shown(on_loss)}"
        raise EncodeError(reason, message_name=name, version=version, path="")
    data = message.encode(version)
    lost = losses(message, version) if on_loss == "error" else ()
    if lost:
        reason = "this version does not have the field, and would drop its value"
        raise EncodeError(reason, message_name=name, version=version, path=lost[0].path)
    return data


class Projection(NamedTuple):
    """A copy of a message that a given version can represent, and the values that the copy lacks."""

    message: Any
    losses: tuple[Loss, ...]


def for_version(message: Message, version: int) -> Projection:
    """Copy a message, with defaults for the values that `version` can't represent. Also return the lost values.

    Raises EncodeError if `version` can't represent one of these defaults, such as null in a non-nullable field.
    """
    lost = losses(message, version)
    projected: Any = message
    for loss in lost:
        projected = _without(projected, [part for part in _STEP.split(loss.path) if part])
    left = losses(projected, version) if lost else ()
    if left:
        reason = "this version can represent neither the field's value nor its default"
        raise EncodeError(reason, message_name=type(message).NAME, version=version, path=left[0].path)
    return Projection(projected, lost)


def _without(value: Any, steps: list[str]) -> Any:
    step, *rest = steps
    if isinstance(value, list | tuple):
        index = int(step)
        changed = _without(value[index], rest) if rest else value[index]
        return (*value[:index], changed, *value[index + 1 :])
    if rest and getattr(value, step) is not None:
        return value.replace(**{step: _without(getattr(value, step), rest)})
    is_field = step in attributes_of(type(value))  # otherwise, it is a union
    return value.replace(**{step: getattr(fresh(type(value)), step)}) if is_field else value


class _Losses(LayoutWriter):
    """A writer that collects the values that it would drop or reject."""

    def __init__(self, layout: Layout) -> None:
        super().__init__(layout, ByteCount)
        self.found: list[Loss] = []

    def keep(self, name: str, value: Any, *, ignorable: bool) -> None:
        self.found.append(Loss(dotted([*self.path, name]), value, ignorable=ignorable))

    def reject_missing(self, struct: StructLayout, get: Callable[[str], Any]) -> None:
        for field in struct.missing:
            if differs(get(field.name), field.default_value()):
                self.keep(field.name, get(field.name), ignorable=field.ignorable)
        if struct.section is None and differs(get("unknown_tags"), NO_TAGS):
            self.keep("unknown_tags", get("unknown_tags"), ignorable=False)

    def unions(self, section: TaggedSection, get: Callable[[str], Any]) -> None:
        for union in section.unions:
            present = present_alternatives(union, get)
            for name in present[1:]:
                self.keep(name, get(name), ignorable=False)
            if not present and not get("unknown_tags"):
                self.keep(union.name, None, ignorable=False)

    def value(self, type: Type, value: Any, out: Any) -> None:
        depth, scopes = len(self.path), self.scopes
        try:
            super().value(type, value, out)
        except EncodeError:
            # Nested calls of this method catch errors inside a struct or array, so `value` itself was rejected.
            self.found.append(Loss(dotted(self.path[:depth]), value, ignorable=False))
            self.scopes = scopes
        del self.path[depth:]

    def unknown_tags(self, unknown: Any, names: Any, highest: int) -> list[tuple[int, Any]]:
        depth = len(self.path)
        try:
            return super().unknown_tags(unknown, names, highest)
        except EncodeError:
            self.found.append(Loss(dotted(self.path[:depth]), unknown, ignorable=False))
            return []
