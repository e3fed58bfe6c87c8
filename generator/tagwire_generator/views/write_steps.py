"""The steps of the code in which a serializer writes a struct.

In each step, `shape` names a macro in `templates/write.jinja`. In generated code, `m` is the object and `out` the
bytearray to which bytes are appended. A tagged field is first written to a separate bytearray, because its size
precedes its value.
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
from tagwire_generator.views.expressions import Expressions

__all__ = ["WriteStep", "WriteTag", "write_steps"]


@dataclass(frozen=True)
class WriteTag:
    """A known tagged field: its tag, the condition under which it is written, and the steps that write its value."""

    tag: int
    differs: str
    steps: tuple["WriteStep", ...]


@dataclass(frozen=True)
class WriteStep:
    """A step of a generated encoder. The kind of step, `shape`, determines which other attributes are set."""

    shape: str
    lines: tuple[str, ...] = ()
    target: str = ""
    null: str = ""
    out: str = ""
    body: "WriteStep | None" = None
    conditions: tuple[str, ...] = ()
    tags: tuple[WriteTag, ...] = ()
    call: str = ""
    known: str = ""


_NULLS = {COMPACT.name: 'b"\\x00"', INT16.name: 'b"\\xff\\xff"', INT32.name: 'b"\\xff\\xff\\xff\\xff"'}


def write_steps(struct: StructLayout, expressions: Expressions) -> tuple[WriteStep, ...]:
    """Return the steps that write the object `m` to `out`. The first step rejects objects that can't be written."""
    writer = _Steps(expressions, "out", struct)
    section = struct.section
    steps = [writer.rejection(struct)]
    if isinstance(section, OptionalBuffer):
        buffer = expressions.optional_fields_buffer(section)
        steps.append(writer.section(section.fields, f"{buffer}.put"))
    steps += writer.items(struct.items)
    if section is not None and not isinstance(section, OptionalBuffer):
        put = expressions.use("tagwire.wire", "put_tags")
        steps.append(writer.section(section.fields, put) if section.fields else writer.unknown_only(put))
    return tuple(steps)


class _Steps:
    def __init__(self, expressions: Expressions, out: str, struct: StructLayout) -> None:
        self.expressions = expressions
        self.out = out
        self.struct = struct
        rows = getattr(struct.cls, "FIELDS", ())
        shared = expressions.is_shared(struct.cls)
        self.optional = {f"m.{row.name}" for row in rows if row.nullable or row.default is None or shared}
        """Attributes of `m` that may be None in at least one version, or in a version of a shared struct."""

    def rejection(self, struct: StructLayout) -> WriteStep:
        """Return the step that rejects an object if its class is wrong or this version can't represent its values."""
        cls = self.expressions.data_class(struct.cls)
        below = self.expressions.use("tagwire.wire", "is_subclass")
        conditions = [f"(type(m) is not {cls} and not {below}(type(m), {cls}))"]
        conditions += [self.expressions.differs(field) for field in struct.missing if not field.ignorable]
        if struct.section is None:
            conditions.append(f"m.unknown_tags not in {self.expressions.use('tagwire.wire', 'WITHOUT_TAGS')}")
        conditions += self.expressions.broken_rules(struct)
        self.expressions.use("tagwire.wire", "UnwritableValue")
        return WriteStep("reject", conditions=tuple(conditions))

    def items(self, items: tuple[Item, ...]) -> list[WriteStep]:
        steps: list[WriteStep] = []
        run: list[tuple[str, str]] = []
        for item in items:
            if isinstance(item.type, Fixed):
                wire, value = item.type.wire, f"m.{item.name}"
                value = value if wire.is_raw else self.present(value, nullable=False)
                run.append((self.expressions.packed(wire, value), wire.code))
                continue
            steps += self.run(run)
            run = []
            steps.append(self.item(item))
        return steps + self.run(run)

    def run(self, run: list[tuple[str, str]]) -> list[WriteStep]:
        if not run:
            return []
        codes = "".join(code for _, code in run)
        values = ", ".join(value for value, _ in run)
        return [WriteStep("statements", lines=(f"{self.out} += {self.expressions.struct_call(codes)}({values})",))]

    def item(self, item: Item) -> WriteStep:
        value = f"m.{item.name}"
        kind = item.type
        if isinstance(kind, Sized):
            return WriteStep("statements", lines=(self.expressions.put_sized(kind, self.out, value),))
        if isinstance(kind, Nested):
            return self.nested(kind, value)
        if isinstance(kind, NullableFixed):
            return self.nullable(kind, value)
        if isinstance(kind, Array) and kind.length is not None:
            body = self.array(kind, value)
            if not kind.nullable:
                return body
            return WriteStep("nullable", target=value, null=f"{self.out} += {_NULLS[kind.length.name]}", body=body)
        raise AssertionError(f"{item.name}: a field can't have the type {kind}")

    def present(self, value: str, *, nullable: bool) -> str:
        """Return the expression `value`. If only other versions allow null, the expression also rejects None."""
        if nullable or value not in self.optional:
            return value
        return f"{self.expressions.use('tagwire.wire', 'required')}({value})"

    def array(self, kind: Array, value: str) -> WriteStep:
        compact = kind.length == COMPACT
        present = self.present(value, nullable=kind.nullable)
        element = kind.element
        if isinstance(element, Fixed) and element.wire.is_raw:
            numbers = self.expressions.numbers(element.wire)
            # For type checkers, the variable `values` of the quick way can't have several types.
            if not compact or element.wire.family == "floating":
                put = f"{numbers}.put{'_compact' * compact}"
                return WriteStep("statements", lines=(f"{put}({self.out}, {value})",))
            self.expressions.use("tagwire.wire", "EMPTY")
            quick = f"{self.out} += {self.expressions.numbers(element.wire, 'packers')}[n](*values)"
            slow = f"{numbers}.put_compact({self.out}, values)"
            return WriteStep("numbers", target=value, out=self.out, lines=(quick,), call=slow)
        put = self.expressions.elements_writer(element, self.out, present)
        count = self.expressions.use("tagwire.wire", "put_compact_count" if compact else "put_count")
        return WriteStep("statements", lines=(f"{count}({self.out}, {value})", put))

    def nullable(self, kind: NullableFixed, value: str) -> WriteStep:
        """Return the step that writes a fixed-width value. If the version allows null, a null marker comes first."""
        present = value if kind.marker else self.present(value, nullable=False)
        packed = self.expressions.packed(kind.wire, present)
        put = f"{self.out} += {self.expressions.struct_call(kind.wire.code)}({packed})"
        if not kind.marker:
            return WriteStep("statements", lines=(put,))
        body = WriteStep("statements", lines=(f'{self.out} += b"\\x01"', put))
        return WriteStep("nullable", target=value, null=f'{self.out} += b"\\xff"', body=body)

    def nested(self, kind: Nested, value: str) -> WriteStep:
        present = self.present(value, nullable=kind.nullable)
        put = f"{self.expressions.struct_writer(kind.struct)}({self.out}, ({present},))"
        if not kind.marker:
            return WriteStep("statements", lines=(put,))
        null = 'b"\\xff"' if kind.marker == "int8" else 'b"\\x00"'
        body = WriteStep("statements", lines=(f'{self.out} += b"\\x01"', put))
        return WriteStep("nullable", target=value, null=f"{self.out} += {null}", body=body)

    def unknown_only(self, put: str) -> WriteStep:
        self.expressions.use("tagwire.wire", "NO_TAGS")
        return WriteStep("unknown_tags", call=put)

    def section(self, fields: tuple[Item, ...], put: str) -> WriteStep:
        inner = _Steps(self.expressions, "data", self.struct)
        tags = tuple(
            WriteTag(field.tag or 0, self.expressions.differs(field), tuple(inner.items((field,)))) for field in fields
        )
        known = self.expressions.known_tags(tuple(tag.tag for tag in tags)) if tags else ""
        return WriteStep("section", tags=tags, call=put, known=known)
