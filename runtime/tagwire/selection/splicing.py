"""Put new values into an encoded message, and copy all other bytes.

The caller has already read the message strictly, so it is valid. New values are written with the writer of `encode`,
so the same values are rejected. Counts and tag sections are adjusted. As in `encode`, tagged fields are omitted if
their value is the default.
"""

from __future__ import annotations

from tagwire.interpreter.reader import LayoutReader
from tagwire.interpreter.value_walk import differs
from tagwire.interpreter.writer import LayoutWriter
from tagwire.layout import Array, Nested, OptionalBuffer, TaggedSection
from tagwire.message.struct_class import Struct, same
from tagwire.selection.selection import DROP
from tagwire.sensitive import without_frames
from tagwire.wire.unknown_tags import NO_TAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tagwire.layout import Item, Layout, StructLayout, Type
    from tagwire.limits import Limits
    from tagwire.selection.paths import Step
    from tagwire.selection.selection import Changes

    Cells = dict[int, tuple[Any, Any]]
    """For each path, by number, the value that was read and the new value."""


@without_frames
def spliced(layout: Layout, buf: bytes, offset: int, changes: Changes, limits: Limits) -> bytes:
    """Return `buf` with `changes` applied to the message at `offset`. Raises EncodeError for invalid new values."""
    splicer = _Splicer(layout, buf, offset, changes, limits)
    splicer.splice_struct(layout.root, changes.paths.root, {} if changes.paths.row_path else splicer.next_row())
    splicer.copy(len(buf))
    return bytes(splicer.out)


class _Splicer(LayoutReader):
    """Reads the input, and copies it to `out` with new values. Input before position `copied` is already in `out`."""

    def __init__(self, layout: Layout, buf: bytes, offset: int, changes: Changes, limits: Limits) -> None:
        super().__init__(layout, buf, offset=offset, limits=limits)
        self.out = bytearray()
        self.copied = 0
        self.changes = changes
        self.row = 0
        self.writer = LayoutWriter(layout, bytearray)
        self.writer.path = self.path

    def copy(self, to: int) -> None:
        self.out += self.buf[self.copied : to]
        self.copied = to

    def next_row(self) -> Cells:
        assert self.changes.rows is not None
        old, new = self.changes.rows[self.row], self.changes.new[self.row]
        self.row += 1
        return dict(enumerate(zip(old, new, strict=True)))

    def splice_struct(self, struct: StructLayout, step: Step, cells: Cells) -> None:
        """Copy a struct, but replace the values of the fields that `step` selects with the new values from `cells`."""
        self.reject_missing(struct, step, cells)
        section = struct.section
        if isinstance(section, OptionalBuffer):
            self.splice_section(section, step, cells)
        for item in struct.items:
            inner = step.steps.get(item.name)
            if inner is None:
                self.value(item.type, ())
            else:
                self.path.append(item.name)
                self.splice_value(item.type, inner, cells)
                self.path.pop()
        if isinstance(section, TaggedSection):
            self.splice_section(section, step, cells)

    def reject_missing(self, struct: StructLayout, step: Step, cells: Cells) -> None:
        """Raise EncodeError if `encode` would reject a new value because this version doesn't have the field."""
        values: dict[str, Any] = {field.name: field.default_value() for field in struct.missing}
        chosen = [name for name in values if name in step.steps]
        for name in chosen:
            self.path.append(name)
            values[name] = self.with_cells(values[name], step.steps[name], cells)
            self.path.pop()
        if chosen:
            values["unknown_tags"] = NO_TAGS
            self.writer.reject_missing(struct, values.__getitem__)

    def splice_value(self, type: Type, step: Step, cells: Cells) -> None:
        if step.each:
            assert isinstance(type, Array)
            self.splice_array(type, step, cells)
        elif step.column is not None:
            self.replace(type, *cells[step.column])
        else:
            assert isinstance(type, Nested)
            if type.marker and not self.is_present(type):
                self.reject_in_null(step, cells)
            else:
                self.splice_struct(type.struct, step, cells)

    def replace(self, type: Type, old: Any, new: Any) -> None:
        """Read the value at the current position. Write `new` instead, unless the value is unchanged."""
        self.copy(self.pos)
        value = self.value(type, ())
        if not _is_kept(value, old, new):
            self.copied = self.pos
            self.writer.value(type, new, self.out)

    def reject_in_null(self, step: Step, cells: Cells) -> None:
        """Raise EncodeError if there is a new value for a field inside a null struct or array."""
        has_rows = step.is_row or any(inner.is_row for inner in _below(step))
        is_changed = any(old is not new for old, new in [cells[column] for column in step.columns if column in cells])
        if is_changed or (has_rows and self.changes.appended):
            self.writer.fail(
                "is None here, so its fields can't be set; instead, select the whole field and set its value"
            )

    def splice_array(self, type: Array, step: Step, cells: Cells) -> None:
        assert type.length is not None  # arrays without a count exist only in record formats
        start = self.pos
        count = self.length(type.length)
        if step.is_row:
            self.splice_rows(type, step, start, count)
        elif count is None:
            self.reject_in_null(step, cells)
        else:
            for column in step.columns if cells else ():
                self.reject_other_count(count, cells[column][1])
            for index in range(count):
                inner = {column: (cells[column][0][index], cells[column][1][index]) for column in step.columns if cells}
                self.splice_element(type.element, index, step, inner)

    def splice_rows(self, type: Array, step: Step, start: int, count: int | None) -> None:
        """Copy the array whose elements are the selection's rows. Change, drop and append elements as requested."""
        assert type.length is not None
        rows = self.changes.new[self.row : self.row + (count or 0)]
        appended = self.changes.appended
        kept = sum(row is not DROP for row in rows) + len(appended)
        if kept != (count or 0):
            self.copy(start)
            self.copied = self.pos
            self.writer.length(type.length, kept, self.out)
        index = 0
        for row in rows:
            if row is DROP:
                self.copy(self.pos)
                self.value(type.element, ())
                self.copied = self.pos
                self.row += 1
                continue
            self.splice_element(type.element, index, step, self.next_row())
            index += 1
        if appended:
            self.copy(self.pos)
            for added in appended:
                self.path.append(index)
                self.writer.value(type.element, added, self.out)
                self.path.pop()
                index += 1

    def splice_element(self, type: Type, index: int, step: Step, cells: Cells) -> None:
        self.path.append(index)
        if step.column is not None:
            self.replace(type, *cells[step.column])
        else:
            assert isinstance(type, Nested)
            self.splice_struct(type.struct, step, cells)
        self.path.pop()

    def reject_other_count(self, count: int, new: Any) -> None:
        """Raise EncodeError unless `new` has `count` values, one for each element of an array inside a row."""
        if not isinstance(new, tuple | list) or len(new) != count:
            found = f"{len(new)} values" if isinstance(new, tuple | list) else f"a {type(new).__name__}"
            self.writer.fail(
                f"expected {count} values, one for each element, got {found}; to add or drop elements, select the "
                "array itself, or only paths that lead into it"
            )

    def splice_section(self, section: TaggedSection | OptionalBuffer, step: Step, cells: Cells) -> None:
        """Copy the tagged fields of a struct. If any field changes, write all fields again."""
        chosen = {field.tag: field for field in section.fields if field.name in step.steps}
        start = self.pos
        old: dict[int, bytes] = {}
        new: dict[int, bytes] = {}
        for tag, size in self.entries(section):
            end = self.pos + size
            old[tag] = new[tag] = self.buf[self.pos : end]
            field = chosen.pop(tag, None)
            if field is not None:
                self.path.append(field.name)
                data = self.changed_field(field, step.steps[field.name], cells, end)
                self.path.pop()
                if data is None:
                    del new[tag]
                else:
                    new[tag] = data
            self.pos = end
        for tag, field in chosen.items():
            self.path.append(field.name)
            data = self.added_field(field, step.steps[field.name], cells)
            self.path.pop()
            if data is not None:
                assert tag is not None
                new[tag] = data
        if new != old:
            self.copy(start)
            self.copied = self.pos
            self.writer.entries(section, sorted(new.items()), self.out)

    def entries(self, section: TaggedSection | OptionalBuffer) -> Any:
        """Yield the tag and size of each tagged field. The reader is then at the beginning of the field's data."""
        if isinstance(section, TaggedSection):
            for _ in range(self.uvarint()):
                yield self.uvarint(), self.uvarint()
            return
        while size := self.length(section.length):
            start = self.take(2)
            yield int.from_bytes(self.buf[start : self.pos], "big"), size - (2 if section.counts_tag else 0)

    def changed_field(self, field: Item, step: Step, cells: Cells, end: int) -> bytes | None:
        """Encode the new value of a tagged field that is present in the input. Return None to remove the field."""
        original = self.buf[self.pos : end]
        default = field.default_value()
        if step.column is not None and not step.each:
            old, new = cells[step.column]
            value = LayoutReader(self.layout, original).value(field.type, ())
            if _is_kept(value, old, new) or not (differs(new, default) or differs(value, default)):
                return original
            return self.written(field, new) if differs(new, default) else None
        outer = self.out, self.copied, self.end
        self.out, self.copied, self.end = bytearray(), self.pos, end
        self.splice_value(field.type, step, cells)
        self.copy(end)
        data = bytes(self.out)
        self.out, self.copied, self.end = outer
        if data == original or differs(LayoutReader(self.layout, data).value(field.type, ()), default):
            return data
        return None

    def added_field(self, field: Item, step: Step, cells: Cells) -> bytes | None:
        """Encode a tagged field that is not in the input, or return None if its new value equals the default."""
        value = self.with_cells(field.default_value(), step, cells)
        return self.written(field, value) if differs(value, field.default_value()) else None

    def written(self, field: Item, value: Any) -> bytes:
        data = bytearray()
        self.writer.value(field.type, value, data)
        return bytes(data)

    def with_cells(self, value: Any, step: Step, cells: Cells) -> Any:
        """For a field that is not in the input, return its default, changed by the new values from `cells`."""
        if step.is_row:
            return (*(value or ()), *self.changes.appended) if self.changes.appended else value
        if step.column is not None and not step.each:
            return cells[step.column][1]
        if value is None:
            self.reject_in_null(step, cells)
            return None
        if step.each:
            for column in step.columns if cells else ():
                self.reject_other_count(0, cells[column][1])
            return value
        for name, inner in step.steps.items():
            setattr(value, name, self.with_cells(getattr(value, name), inner, cells))
        return value


def _is_kept(value: Any, old: Any, new: Any) -> bool:
    """Return whether a value is unchanged. Structs may be changed in place, so they are compared with the input."""
    first = value[0] if isinstance(value, tuple) and value else value
    return new is old and (not isinstance(first, Struct) or same(value, new))


def _below(step: Step) -> Any:
    for inner in step.steps.values():
        yield inner
        yield from _below(inner)
