"""Pair the fields of an older and a newer spec by their wire positions.

If a version has the same bytes in both specs, its fields at the same index correspond, whatever their names. This finds
fields that were renamed between two releases. Fields that exist only in versions dropped by the newer release are
paired by name and type.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tagwire.errors import SpecError
from tagwire.layout import Array, Item, Nested, StructLayout, Type
from tagwire.message.field_table import layout_of
from tagwire_generator.expansion.message_classes import message_class
from tagwire_generator.project.options import SpecOptions
from tagwire_workbench.archive.release import message_of, wire_forms

Spec = Mapping[str, Any]


class FieldPairing:
    """Maps each field of an older spec to the corresponding field of a newer spec.

    Field names are stored in lower case, because specs and layouts capitalize them differently.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.structs: dict[str, str] = {}
        """The struct names in the newer spec, by the names in the older spec."""
        self._fields: dict[tuple[str, str, str], str] = {}

    def add(self, newer: StructLayout, older: StructLayout) -> None:
        """Pair the fields of two structs (and nested structs) by position. Both structs must have the same bytes."""
        self.structs.setdefault(older.name, newer.name)
        for ours, theirs in zip(_items(newer), _items(older), strict=True):
            key = (newer.name, older.name, theirs.json_name.lower())
            known = self._fields.setdefault(key, ours.json_name.lower())
            if known != ours.json_name.lower():
                raise SpecError(
                    f"{self.name}: the older field {older.name}.{theirs.json_name} corresponds to {known} in one "
                    f"version, but to {ours.json_name} in another; it must correspond to the same field in all"
                )
            inner, outer = _struct(ours.type), _struct(theirs.type)
            if inner is not None and outer is not None:
                self.add(inner, outer)

    def fields(
        self, newer_struct: str, older_struct: str, ours: Sequence[Spec], theirs: Sequence[Spec]
    ) -> dict[str, str]:
        """Map the names of older fields to names of newer fields. Fields not paired by position are paired by name.

        Raises SpecError if fields with the same name have different types.
        """
        names = {field["name"].lower(): field["name"] for field in ours}
        found: dict[str, str] = {}
        for field in theirs:
            partner = self._fields.get((newer_struct, older_struct, field["name"].lower()))
            if partner is not None:
                found[field["name"]] = names[partner]
        left = {field["name"]: field for field in ours if field["name"] not in found.values()}
        for field in theirs:
            same = left.get(field["name"])
            if field["name"] not in found and same is not None:
                if same["type"] != field["type"]:
                    raise SpecError(
                        f"{self.name}: the field {field['name']} has type {field['type']} in the older release and "
                        f"{same['type']} in the newer one; rename one of the two fields"
                    )
                found[field["name"]] = field["name"]
        return found


def paired(newer: Spec, older: Spec, shared: Iterable[int]) -> FieldPairing:
    """Pair the fields of two specs by position, in each version in `shared` whose wire format is equal in both.

    Raises SpecError if two versions pair one older field with different newer fields.
    """
    pairing = FieldPairing(newer["name"])
    forms = wire_forms(dict(newer)), wire_forms(dict(older))
    classes = [message_class(message_of(dict(spec)), SpecOptions()) for spec in (newer, older)]
    for version in shared:
        if forms[0][version] == forms[1][version]:
            ours, theirs = (layout_of(cls, version).root for cls in classes)
            pairing.add(ours, theirs)
    return pairing


def _items(struct: StructLayout) -> Iterator[Item]:
    yield from struct.items
    if struct.section is not None:
        yield from struct.section.fields


def _struct(type: Type) -> StructLayout | None:
    inner = type.element if isinstance(type, Array) else type
    return inner.struct if isinstance(inner, Nested) else None
