"""The view of a record format's module: its data classes and field tables.

Part of the stable interface for users' templates (docs/templates.md). There
are no serializers: a format goes through the interpreter of its layout.
"""

from dataclasses import dataclass

from tagwire.layout import Condition, Layout, Nested, Order, StructLayout, nested_struct
from tagwire.layout.parts import FrozenData
from tagwire.message.framing_table import Framing
from tagwire.message.record_format import RecordFormat
from tagwire_generator.expansion.format_classes import attributes_of, format_rows
from tagwire_generator.model import FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.python_names import attribute_name
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.views.data_view import DataViews, FieldView, StructView
from tagwire_generator.views.docstrings import prose, sentences

__all__ = ["FormatModuleView", "format_view"]


@dataclass(frozen=True)
class FormatStructView(StructView):
    """A data class of a format."""

    rows: tuple[str, ...]
    """The field table: calls of FieldRow. It has lengths, counts and checksums, which the fields do not."""


@dataclass(frozen=True)
class FormatModuleView:
    """The module of a record format."""

    source: str
    doc: str
    imports: list[list[str]]
    names: tuple[str, ...]
    structs: tuple[FormatStructView, ...]
    """Each after those that it holds; the format is the last."""
    constructor: str
    """The decorator of each `__init__`."""


def format_view(spec: MessageSpec, cls: type[RecordFormat], options: SpecOptions, source: str) -> FormatModuleView:
    """The view of the module of a format, whose class `cls` is."""
    views = _FormatViews(spec, options)
    structs = tuple(views.format_struct(struct) for struct in (*spec.structs, spec.root))
    constructor = views.imports.use("tagwire.message", "constructor")
    return FormatModuleView(
        source=source,
        doc=_doc(spec, cls.layout()),
        imports=views.imports.groups,
        names=tuple(sorted(struct.name for struct in structs)),
        structs=structs,
        constructor=constructor,
    )


class _FormatViews(DataViews):
    def format_struct(self, struct: StructSpec) -> FormatStructView:
        is_root = struct is self.spec.root
        rows = format_rows(self.spec, self.options)[struct.name]
        return FormatStructView(
            name=struct.name,
            base=self.imports.use("tagwire.message", "RecordFormat" if is_root else "Struct"),
            doc=prose(self.struct_doc(struct)),
            fields=tuple(map(self.field, attributes_of(struct))),
            constants=tuple(self.head()) if is_root else (),
            unions=(),
            which=None,
            keyed=(),
            rows=tuple(self.format_row(field, row.framing) for field, row in zip(struct.fields, rows, strict=True)),
        )

    def struct_doc(self, struct: StructSpec) -> str:
        assert self.spec.format is not None
        what = "The record format" if struct is self.spec.root else f"A {struct.name.lower()} of the record format"
        return sentences(f"{what} {self.spec.format.name}.", self.spec.about if struct is self.spec.root else "")

    def head(self) -> list[tuple[str, str]]:
        assert self.spec.format is not None
        constants = [("NAME", repr(self.spec.name)), ("FORMAT", repr(self.spec.format.name))]
        if self.spec.format.discriminator:
            constants.append(("DISCRIMINATOR", repr(attribute_name(self.spec.format.discriminator))))
        return constants

    def field(self, field: FieldSpec) -> FieldView:
        view = super().field(field)
        return FieldView(**{**vars(view), "doc": _field_doc(field)})

    def format_row(self, field: FieldSpec, framing: Framing | None) -> str:
        row = self.row(field, self.default(field))
        return row if framing is None else f"{row[:-1]}, framing={self.expression(framing)})"

    def expression(self, value: object) -> str:
        """Frozen data as the expression that makes it."""
        if isinstance(value, tuple):
            return f"({', '.join(map(self.expression, value))}{',' * (len(value) == 1)})"
        if not isinstance(value, FrozenData):
            return repr(value)
        name = self.imports.use("tagwire.message", type(value).__name__)
        named = isinstance(value, Framing | Condition | Order)
        parts = (f"{key}={self.expression(part)}" if named else self.expression(part) for key, part in value.given())
        return f"{name}({', '.join(parts)})"


def _field_doc(field: FieldSpec) -> str:
    facts = [str(field.type)]
    if field.framing.length or field.framing.count:
        facts.append(f"length: {field.framing.length or field.framing.count}")
    if field.nullable_versions:
        facts.append("nullable")
    if field.framing.equals is not None:
        facts.append(f"always {field.framing.equals}")
    if field.framing.delta_of:
        facts.append(f"relative to {attribute_name(field.framing.delta_of)}")
    if field.framing.when is not None:
        when = field.framing.when
        what = attribute_name(when.field) + (f".{attribute_name(when.bits)}" if when.bits else "")
        facts.append(f"there when {what} is {when.equals}")
    if field.framing.rewritten:
        facts.append("rewritten in place")
    for group in field.framing.bits:
        values = f" ({', '.join(group.values)})" if group.values else ""
        facts.append(f"0x{group.mask:02x} {attribute_name(group.name)}{values}")
    return prose(f"{', '.join(facts)}." + (f" {field.about}" if field.about else ""))


def _doc(spec: MessageSpec, layout: Layout) -> str:
    """What is on the wire, a line a field."""
    assert spec.format is not None
    return "\n".join([f"The record format {spec.format.name}, in wire order.", "", *_lines(layout.root, 1)])


def _lines(struct: StructLayout, depth: int) -> list[str]:
    lines = []
    for item in struct.items:
        inner = nested_struct(item.type)
        kind = item.type.struct.name if isinstance(item.type, Nested) else str(item.type)
        lines.append(f"{'    ' * depth}{item.name:<{28 - 4 * depth}}{kind}")
        lines += _lines(inner, depth + 1) if inner else []
    return lines
