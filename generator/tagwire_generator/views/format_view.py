"""The view of a record format's module, from which a template generates data classes and their field tables.

Part of the stable interface for users' templates (docs/templates.md). Record formats have no serializers.
"""

from tagwire.layout import Condition, Nested, Order, StructLayout, nested_struct
from tagwire.lazy import FrozenData
from tagwire.message.field_table import FieldRow
from tagwire.message.record_format import Framing, RecordFormat
from tagwire_generator.message_classes import format_rows
from tagwire_generator.model import FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.record_format_spec import REST
from tagwire_generator.model.spec_names import attribute_name
from tagwire_generator.views.data_view import DataModuleView, DataViews, FieldView, StructView
from tagwire_generator.views.docstrings import documented

__all__ = ["format_view"]


def format_view(spec: MessageSpec, cls: type[RecordFormat], source: str) -> DataModuleView:
    """Return the values from which a template generates a record format's module. `cls` is the class at run time."""
    views = _FormatViews(spec, None)
    structs = tuple(views.struct(struct) for struct in (*spec.structs, spec.root))
    assert spec.format is not None
    doc = [f"The record format {spec.format.name}, in wire order.", "", *_lines(cls.layout().root, 1), ""]
    return views.module_of(structs, source, "\n".join(doc))


class _FormatViews(DataViews):
    def struct(self, struct: StructSpec) -> StructView:
        is_root = struct is self.spec.root
        rows = format_rows(self.spec)[struct.name]
        return StructView(
            name=struct.name,
            base=self.imports.use("tagwire.message", "RecordFormat" if is_root else "FormatStruct"),
            doc=self.struct_doc(struct),
            fields=tuple(self.format_field(field, row) for field, row in zip(struct.fields, rows, strict=True)),
            constants=tuple(self.constants()) if is_root else (),
        )

    def struct_doc(self, struct: StructSpec) -> str:
        assert self.spec.format is not None
        is_root = struct is self.spec.root
        what = "record format" if is_root else f"{struct.name.lower()} of the record format"
        about = self.spec.about if is_root else struct.about
        return documented(about, [f"{'' if about else 'The ' if is_root else 'A '}{what} {self.spec.format.name}"])

    def constants(self) -> list[tuple[str, str]]:
        assert self.spec.format is not None
        constants = [("NAME", repr(self.spec.name)), ("FORMAT", repr(self.spec.format.name))]
        if self.spec.format.discriminator:
            constants.append(("DISCRIMINATOR", repr(attribute_name(self.spec.format.discriminator))))
        return constants

    def format_field(self, field: FieldSpec, row: FieldRow) -> FieldView:
        declaration = self.declaration(field)
        if row.is_computed:
            declaration = (
                f"{self.imports.use('tagwire.message', 'computed_field')}{declaration[declaration.index('(') :]}"
            )
        if row.framing is not None:
            declaration = f"{declaration[:-1]}, framing={self.expression(row.framing)})"
        annotation = "" if row.is_computed else self.attribute_type(field)
        return FieldView(attribute_name(field.name), annotation, declaration, _field_doc(field, row))

    def expression(self, value: object) -> str:
        """Return Python source code for a value, which is its `repr` unless it is a tuple or a FrozenData object."""
        if isinstance(value, tuple):
            return f"({', '.join(map(self.expression, value))}{',' * (len(value) == 1)})"
        if not isinstance(value, FrozenData):
            return repr(value)
        name = self.imports.use("tagwire.message", type(value).__name__)
        named = isinstance(value, Framing | Condition | Order)
        if named:
            parts = [f"{key}={self.expression(part)}" for key, part in sorted(value.given())]
        else:
            parts = [self.expression(part) for _, part in value.given()]
        return f"{name}({', '.join(parts)})"


def _field_doc(field: FieldSpec, row: FieldRow) -> str:
    facts = [str(field.type)]
    framing = field.framing
    for what, of in (
        ("length of", framing.length_of),
        ("count of", framing.count_of),
        ("checksum from", framing.covers),
    ):
        if of:
            facts.append(f"{what} {'the rest' if of == REST else attribute_name(of)}")
    if framing.length or framing.count:
        facts.append(f"length: {framing.length or framing.count}")
    if field.nullable_versions:
        facts.append("nullable")
    if framing.equals is not None:
        facts.append(f"always {framing.equals}")
    if framing.delta_of:
        facts.append(f"relative to {attribute_name(framing.delta_of)}")
    if framing.when is not None:
        when = framing.when
        what = attribute_name(when.field) + (f".{attribute_name(when.bits)}" if when.bits else "")
        facts.append(f"there when {what} is {when.equals}")
    if framing.rewritten:
        facts.append("rewritten in place")
    for group in framing.bits:
        values = f": {'/'.join(group.values)}" if group.values else ""
        facts.append(f"0x{group.mask:02x} {attribute_name(group.name)}{values}")
    return documented(field.about, facts)


def _lines(struct: StructLayout, depth: int) -> list[str]:
    lines = []
    for item in struct.items:
        inner = nested_struct(item.type)
        kind = item.type.struct.name if isinstance(item.type, Nested) else str(item.type)
        lines.append(f"{'    ' * depth}{item.name:<{28 - 4 * depth}}{kind}")
        lines += _lines(inner, depth + 1) if inner else []
    return lines
