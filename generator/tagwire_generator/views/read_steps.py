"""The steps of straight-line code in which a serializer reads a struct, field by field in wire order.

For speed, a single call of Python's `struct` reads consecutive fixed-width fields and the start of the next field: a
null marker, a fixed-width length, or the first byte of a compact length. In each step, `shape` names a macro in
`templates/read.jinja`, and the other attributes are strings that the macro inserts.

In generated code, `m` is the object, `buf` the input, `pos` the position, `n` the last length or marker that was read,
`end` the end of a string, and `stop` the end of a tagged field. Values of bytes fields are slices of `raw`, which is
the input as bytes or as a memoryview.
"""

from dataclasses import dataclass

from tagwire.layout import (
    COMPACT,
    INT16,
    INT32,
    Array,
    Fixed,
    Item,
    Nested,
    NullableFixed,
    OptionalBuffer,
    Sized,
    StructLayout,
)
from tagwire.wire.types import STRING_MAX
from tagwire.wire.varint import UVARINT_MAX
from tagwire_generator.views.expressions import Expressions

__all__ = ["ReadStep", "TagCase", "read_steps"]


@dataclass(frozen=True)
class TagCase:
    """A known tagged field: its tag, and the steps that read the value."""

    tag: int
    steps: tuple["ReadStep", ...]


@dataclass(frozen=True)
class ReadStep:
    """A step of a generated decoder. The kind of step, `shape`, determines which other attributes are set."""

    shape: str
    target: str = ""
    source: str = ""
    width: int = 0
    lines: tuple[str, ...] = ()
    is_null: str = ""
    long: str = ""
    end: str = ""
    slow: tuple[str, ...] = ()
    body: "ReadStep | None" = None
    cases: tuple[TagCase, ...] = ()
    defaults: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class _Lead:
    """How to read a length or count: its `struct` format code, and expressions that use its value `n`."""

    code: str
    is_null: str
    count: str
    end: str


_LEADS = {
    COMPACT.name: _Lead("B", "n == 0", "n - 1", "pos + n - 1"),
    INT16.name: _Lead("h", "n < 0", "n", "pos + n"),
    INT32.name: _Lead("i", "n < 0", "n", "pos + n"),
}


def read_steps(struct: StructLayout, expressions: Expressions) -> tuple[ReadStep, ...]:
    """Return the steps of generated code that reads a struct into the attributes of the object `m`."""
    return _Steps(expressions).struct(struct)


class _Steps:
    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions
        self.steps: list[ReadStep] = []
        self.run: list[tuple[str, str]] = []
        """Fields that the next `struct` call will read: the attribute or variable to set, and the format code."""
        self.width = 0
        self.fixups: list[str] = []

    def struct(self, struct: StructLayout) -> tuple[ReadStep, ...]:
        section = struct.section
        if isinstance(section, OptionalBuffer):
            self.steps.append(self.optional_buffer(section))
        for item in struct.items:
            self.item(item)
        if section is not None and not isinstance(section, OptionalBuffer):
            self.lead("B", "the number of tagged fields")
            self.steps.append(self.tagged_section(section.fields))
        self.flush()
        absent = [f"m.{field.name} = {self.expressions.default(field)}" for field in struct.missing]
        if section is None:
            absent.append(f"m.unknown_tags = {self.expressions.use('tagwire.wire', 'NO_TAGS')}")
        if absent:
            self.steps.append(ReadStep("statements", lines=tuple(absent)))
        broken = self.expressions.broken_rules(struct)
        if broken:
            self.expressions.use("tagwire.wire", "UnreadableBytes")
            self.steps.append(ReadStep("reject", conditions=broken))
        return tuple(self.steps)

    def flush(self, note: str = "") -> None:
        """Add a `struct` call that reads the pending fields. `note` becomes a comment in the generated code."""
        if not self.run:
            return
        targets = ", ".join(target for target, _ in self.run)
        codes = "".join(code for _, code in self.run)
        if codes == "B":
            step = ReadStep("run", target=targets, source="buf[pos]", width=1)
        else:
            target = targets if len(self.run) > 1 else f"({targets},)"
            source = f"{self.expressions.struct_call(codes, 'unpack_from')}(buf, pos)"
            step = ReadStep("run", target=target, source=source, width=self.width, note=note)
        self.steps.append(step)
        if self.fixups:
            self.steps.append(ReadStep("statements", lines=tuple(self.fixups)))
        self.run, self.width, self.fixups = [], 0, []

    def wait(self, target: str, code: str, width: int) -> None:
        self.run.append((target, code))
        self.width += width

    def lead(self, code: str, what: str) -> None:
        """Add one `struct` call that reads the pending fields and then a length or null marker into `n`."""
        note = f"n: {what}" if self.run else ""
        self.wait("n", code, {"B": 1, "b": 1, "h": 2, "i": 4}[code])
        self.flush(note)

    def item(self, item: Item) -> None:
        kind = item.type
        if isinstance(kind, Fixed):
            self.fixed(item.name, kind)
        elif isinstance(kind, Nested):
            self.marked(f"m.{item.name}", kind.marker, self.expressions.struct_reader(kind.struct, "1"))
        elif isinstance(kind, NullableFixed):
            self.marked(f"m.{item.name}", kind.marker, self.expressions.elements_reader(Fixed(kind.wire), "1"))
        elif isinstance(kind, Sized | Array) and kind.length is not None:
            lead = _LEADS[kind.length.name]
            self.lead(lead.code, f"the {'length' if isinstance(kind, Sized) else 'count'} of {item.name}")
            self.steps.append(self.with_null(f"m.{item.name}", kind, lead))
        else:
            raise AssertionError(f"{item.name}: a field can't have the type {kind}")

    def fixed(self, name: str, kind: Fixed) -> None:
        wire = kind.wire
        direct = f"m.{name}"
        converted = self.expressions.converted(wire, f"raw_{name}")
        if converted:
            self.fixups.append(f"{direct} = {converted}")
        self.wait(f"raw_{name}" if converted else direct, wire.code, wire.width)

    def marked(self, target: str, marker: str, call: str) -> None:
        """Add the steps that read a value. `marker` is the type of the null marker before it, or "" if it has none."""
        if not marker:
            self.flush()
            self.steps.append(ReadStep("call", target=f"({target},)", source=call))
            return
        self.lead("b" if marker == "int8" else "B", f"the null marker of {target.removeprefix('m.')}")
        self.expressions.use("tagwire.wire", "UnreadableBytes")
        absent = "n == -1" if marker == "int8" else "n == 0"
        self.steps.append(ReadStep("marked", target=target, source=call, is_null=absent))

    def with_null(self, target: str, kind: Sized | Array, lead: _Lead) -> ReadStep:
        body = self.sized(target, kind, lead) if isinstance(kind, Sized) else self.array(target, kind, lead)
        if kind.nullable:
            rejection = () if lead.code == "B" else (f"{self.expressions.use('tagwire.wire', 'check_null_length')}(n)",)
            return ReadStep("nullable", is_null=lead.is_null, lines=(*rejection, f"{target} = None"), body=body)
        self.expressions.use("tagwire.wire", "UnreadableBytes")
        return ReadStep("required", is_null=lead.is_null, body=body)

    def sized(self, target: str, kind: Sized, lead: _Lead) -> ReadStep:
        value = self.expressions.sized_value(kind.wire)
        return ReadStep("sized", target=target, source=value, end=lead.end, long=self.long(lead, kind.longest))

    def long(self, lead: _Lead, longest: int = UVARINT_MAX) -> str:
        if lead.code != "B":
            return ""
        helper = self.expressions.use("tagwire.wire", "string_length" if longest == STRING_MAX else "uvarint")
        return f"n, pos = {helper}(buf, pos, n)"

    def array(self, target: str, kind: Array, lead: _Lead) -> ReadStep:
        element = kind.element
        if isinstance(element, Fixed) and element.wire.is_raw:
            numbers = self.expressions.numbers(element.wire)
            slow = f"{target}, pos = {numbers}.read(buf, pos, {lead.count})"
            if lead.code != "B":
                return ReadStep("statements", lines=(slow,))
            width = element.wire.width
            quick = f"{target} = {self.expressions.numbers(element.wire, 'unpackers')}[n - 1](buf, pos)"
            return ReadStep("numbers", lines=(quick, f"pos += {width} * n - {width}"), slow=(self.long(lead), slow))
        reader = self.expressions.elements_reader(element, lead.count)
        return ReadStep("counted", target=target, source=reader, long=self.long(lead))

    def tagged_section(self, fields: tuple[Item, ...]) -> ReadStep:
        no_tags = self.expressions.use("tagwire.wire", "NO_TAGS")
        if not fields:
            reader = self.expressions.use("tagwire.wire", "read_tags")
            return ReadStep("unknown_tags", source=f"{reader}(buf, pos, n)", defaults=(f"m.unknown_tags = {no_tags}",))
        self.expressions.use("tagwire.wire", "tag_header")
        self.expressions.use("tagwire.wire", "UnreadableBytes")
        self.expressions.use("tagwire.wire", "uvarint")
        return ReadStep("tagged_section", cases=self.cases(fields), defaults=self.tag_defaults(fields))

    def optional_buffer(self, section: OptionalBuffer) -> ReadStep:
        buffer = self.expressions.optional_fields_buffer(section)
        if not section.fields:
            return ReadStep("statements", lines=(f"m.unknown_tags, pos = {buffer}.unknown_tags(buf, pos)",))
        self.expressions.use("tagwire.wire", "NO_TAGS")
        self.expressions.use("tagwire.wire", "UnreadableBytes")
        return ReadStep(
            "optional_buffer",
            source=buffer,
            cases=self.cases(section.fields),
            defaults=self.tag_defaults(section.fields),
        )

    def tag_defaults(self, fields: tuple[Item, ...]) -> tuple[str, ...]:
        return tuple(f"m.{field.name} = {self.expressions.default(field)}" for field in fields)

    def cases(self, fields: tuple[Item, ...]) -> tuple[TagCase, ...]:
        found = []
        for item in fields:
            steps = _Steps(self.expressions)
            steps.item(item)
            steps.flush()
            found.append(TagCase(item.tag or 0, tuple(steps.steps)))
        return tuple(found)
