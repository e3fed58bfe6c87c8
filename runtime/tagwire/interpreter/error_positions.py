"""Raise the error for an error position from the native engine.

After an error, the native engine makes a separate pass (`_native/engine/walk.h`), which returns an `ErrorPosition`:
what is invalid, and what the interpreter needs to resume reading there and raise the error. So only the interpreter
contains error texts.
"""

from enum import IntEnum
from typing import TypeVar

from tagwire.interpreter.cursor import Scopes
from tagwire.interpreter.reader import LayoutReader
from tagwire.interpreter.tag_sections import TagFields
from tagwire.layout import Array, Item, Layout, Nested, OptionalBuffer, StructLayout, TaggedSection, Type
from tagwire.limits import Limits

T = TypeVar("T")


class ErrorStage(IntEnum):
    """The part of a message that the native engine could not read. Names and numbers match `tw_stage` in walk.h."""

    VALUE = 1
    SECTION = 2
    ENTRY = 3
    ELEMENT = 4
    TAG_END = 5
    STRUCT_END = 6
    MESSAGE_END = 7


ErrorPosition = tuple[int, list[str | int], int, int, int, int, tuple[int, int, int]]
"""Where in a message an error is: (stage, path, position, end, tag, size, counts).

- `stage`: the number of an `ErrorStage`, which specifies what the native engine could not read.
- `path` and `position`: the path and the offset at which the interpreter resumes reading.
- `end`: the offset where the readable bytes end. An enclosing length may set it before the end of the message.
- `tag` and `size`: for TAG_END, the tag of the invalid tagged field, and the size that precedes its value. For ENTRY,
  `tag` is the tag of the previous entry. Other stages don't use them.
- `counts`: the numbers of array elements, of unknown tags, and of bytes of unknown tags before the error.
"""


def reject_bytes(layout: Layout, data: bytes, position: ErrorPosition, limits: Limits) -> None:
    """Raise the error for the invalid bytes at `position`: a DecodeError, or LimitError if they exceed a limit."""
    read_on(LayoutReader(layout, data, limits=limits), position)


def read_on(reader: LayoutReader, position: ErrorPosition) -> None:
    """Resume reading at the error's position, so that the reader raises the error.

    If the reader records a trace, its recorder must already contain the spans before that position.
    """
    stage, path, reader.pos, reader.end, tag, size, counts = position
    reader.elements, reader.unknown_tags, reader.unknown_tag_bytes = counts
    if stage == ErrorStage.MESSAGE_END:
        reader.end_of_message()
    elif not path and stage == ErrorStage.VALUE:
        reader.message(whole=True)
    elif stage == ErrorStage.VALUE:
        _value(reader, path)
    else:
        type, scopes = _inside(reader.layout, path)
        reader.path = path
        if stage == ErrorStage.TAG_END:
            reader.end_of_tag(tag, size, reader.end)
        elif stage == ErrorStage.ELEMENT:
            reader.one_more_element()
        else:
            _struct(reader, stage, _of(Nested, type).struct, tag, scopes)


def _value(reader: LayoutReader, path: list[str | int]) -> None:
    *around, step = path
    type, scopes = _inside(reader.layout, around)
    reader.path = around
    if isinstance(step, int):
        reader.element(_of(Array, type), step, scopes)
        return
    struct = _of(Nested, type).struct
    item = _field(struct, step)
    if item.tag is None:
        reader.field(item, struct, scopes)
    else:
        reader.path = path
        reader.value(item.type, scopes)


def _struct(reader: LayoutReader, stage: int, struct: StructLayout, last: int, scopes: Scopes) -> None:
    """Raise the error for an invalid struct, by reading its invalid part (`stage`) again."""
    section = struct.section
    if stage == ErrorStage.STRUCT_END:
        reader.exhausted(struct.name)
    elif isinstance(section, OptionalBuffer):
        reader.optional_entry(section, TagFields(section.fields), last, scopes)
    elif stage == ErrorStage.ENTRY:
        reader.tagged_entry(TagFields(_of(TaggedSection, section).fields), last, scopes)
    else:
        reader.tagged_section(_of(TaggedSection, section), scopes)


def _inside(layout: Layout, path: list[str | int]) -> tuple[Type, Scopes]:
    """Return the type at `path`, and the initial `Scopes` of a reader that starts there."""
    type: Type = Nested(layout.root)
    scopes: Scopes = ({},)
    for step in path:
        type = _of(Array, type).element if isinstance(step, int) else _field(_of(Nested, type).struct, step).type
        if isinstance(type, Nested):
            scopes = (*scopes, {})
    return type, scopes


def _field(struct: StructLayout, name: str) -> Item:
    return next(item for item in struct.fields if item.name == name)


def _of(kind: type[T], value: object) -> T:
    assert isinstance(value, kind)
    return value
