"""Structs, the graph of nested structs, and their rules."""

import graphlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from tagwire.versions import NONE, Versions
from tagwire_generator.model.defaults import struct_violations
from tagwire_generator.model.field_spec import MAX_DRAFT_TAG, MAX_TAG, FieldSpec
from tagwire_generator.model.spec_names import STRUCT_NAME_RULE, is_name, is_struct_name
from tagwire_generator.problems import Violation, enforce, named, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class StructSpec:
    """A struct of a message. Raises InvalidSpec if its fields contradict each other.

    In the draft dialect (KIP-482's first draft), optional fields come last.
    """

    name: str
    versions: Versions
    """The message versions in which the struct exists.

    For an inline struct, these are the versions of its field; for the message itself, its valid versions.
    """
    fields: tuple[FieldSpec, ...] = ()
    """The fields in spec order, which is also their order on the wire."""
    about: str = ""
    """The description of a common struct. An inline struct is described by its field."""
    deprecated: str | None = None
    """Why the struct is deprecated, and what to use instead, or None if it is not."""
    reserved_tags: tuple[int, ...] = ()
    """Retired tags, which no field may use in any version."""
    is_draft: bool = False
    """Whether the struct is part of a message in the draft dialect, which allows fewer tags."""
    owner: str = field(default="", compare=False)
    """The shared struct whose module contains the generated class, or "" for a message's own structs."""
    warnings: tuple[Violation, ...] = field(init=False, compare=False, repr=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "warnings", enforce(self._violations()))

    def _violations(self) -> Iterator[Violation]:
        if not is_name(self.name) or (self.name[0].isupper() and not is_struct_name(self.name)):
            yield Violation("TW301", "name", f"{quoted(self.name)} can't be a struct's name; {STRUCT_NAME_RULE}")
        yield from self._name_violations()
        yield from self._reserved_violations()
        yield from self._tag_violations()
        yield from struct_violations(self)

    def _name_violations(self) -> Iterator[Violation]:
        first: dict[str, FieldSpec] = {}
        for position, spec in enumerate(self.fields):
            other = first.setdefault(spec.name.lower(), spec)
            if other is spec:
                continue
            what = f"struct {named(self.name)} has a field {named(other.name)} in versions {other.versions} already"
            if other.name == spec.name:
                yield Violation("TW302", "name", f"{what}; rename one of them", field=position)
            else:
                message = f"{what}, and {named(spec.name)} becomes the same name in Python and JSON; rename one of them"
                yield Violation("TW303", "name", message, field=position)

    def _reserved_violations(self) -> Iterator[Violation]:
        seen: set[int] = set()
        for tag in self.reserved_tags:
            where = f"struct {named(self.name)} reserves tag {tag}"
            if not 0 <= tag <= MAX_TAG:
                most = f"the draft's tags are 0 to {MAX_DRAFT_TAG}" if self.is_draft else f"tags are 0 to {MAX_TAG}"
                yield Violation("TW601", "reservedTags", f"{where}; {most}")
            elif tag in seen:
                yield Violation("TW613", "reservedTags", f"{where} twice; list it once")
            seen.add(tag)

    def _tag_violations(self) -> Iterator[Violation]:
        reserved = set(self.reserved_tags)
        first: dict[int, FieldSpec] = {}
        for position, spec in enumerate(self.fields):
            if spec.tag is None:
                continue
            other = first.setdefault(spec.tag, spec)
            where = f"tag {spec.tag} of field {named(spec.name)}"
            if other is not spec:
                message = f"{where} is already used by field {named(other.name)}; use another one"
                yield Violation("TW608", "tag", message, field=position)
            if spec.tag in reserved:
                message = f"{where} is retired by reservedTags; use another one"
                yield Violation("TW610", "tag", message, field=position)


class StructGraph:
    """The structs of a message. Each has a position: its index in `MessageSpec.structs`, or None for the message."""

    def __init__(self, root: StructSpec, structs: tuple[StructSpec, ...]) -> None:
        self.root = root
        self.positions: dict[str, int] = {}
        """The position of the first struct with each name."""
        for position, struct in enumerate(structs):
            self.positions.setdefault(struct.name, position)
        self._structs = structs
        self.cycle: tuple[str, ...] = ()
        """The names of structs that contain each other, with the first name repeated at the end; otherwise empty."""
        self.order: tuple[int, ...] = self._sorted()
        """The positions of all structs, each after the structs that it contains, or empty if there is a cycle."""
        self.present: dict[int | None, Versions] = self._present()
        """For each struct, the smallest range that includes all versions in which the struct can be on the wire."""

    def owners(self) -> Iterator[tuple[int | None, StructSpec]]:
        """Yield (position, struct) for the message, whose position is None, and for each of its structs."""
        yield None, self.root
        yield from enumerate(self._structs)

    def members(self) -> Iterator[tuple[int | None, StructSpec, int, FieldSpec]]:
        """Yield (struct position, struct, field index, field) for all fields of all structs."""
        for position, struct in self.owners():
            for index, spec in enumerate(struct.fields):
                yield position, struct, index, spec

    def target(self, spec: FieldSpec) -> int | None:
        """Return the index of a field's struct in the graph, or None for primitives and for undeclared structs."""
        return self.positions.get(spec.struct) if spec.struct is not None else None

    def _sorted(self) -> tuple[int, ...]:
        held = {
            position: [target for spec in struct.fields if (target := self.target(spec)) is not None]
            for position, struct in enumerate(self._structs)
        }
        try:
            return tuple(graphlib.TopologicalSorter(held).static_order())
        except graphlib.CycleError as error:
            # graphlib lists each struct before the struct that contains it, so reverse the list.
            circle: list[int] = error.args[1]
            self.cycle = tuple(self._structs[position].name for position in reversed(circle))
            return ()

    def _present(self) -> dict[int | None, Versions]:
        """Map each struct's position to the versions in which the struct is both declared and used."""
        valid = self.root.versions
        present: dict[int | None, Versions] = {p: s.versions & valid for p, s in enumerate(self._structs)}
        uses: dict[int, list[Versions]] = {}
        for position in (None, *reversed(self.order)):
            if position is not None and position in uses:
                present[position] = present[position] & _around(uses[position])
            struct = self.root if position is None else self._structs[position]
            for spec in struct.fields:
                target = self.target(spec)
                if target is not None:
                    uses.setdefault(target, []).append(
                        spec.versions & (valid if position is None else present[position])
                    )
        return {None: valid, **present}


def _around(ranges: list[Versions]) -> Versions:
    full = [versions for versions in ranges if versions]
    if not full:
        return NONE
    return Versions(min(versions.lowest for versions in full), max(versions.highest for versions in full))
