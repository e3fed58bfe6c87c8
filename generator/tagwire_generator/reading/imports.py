"""The imports of a spec: shared structs found, and made into structs in the spec's own versions.

What a shared struct imports itself comes along, under the same names. Within
one version of a message a struct has one version, so the ways by which one
comes must agree.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from tagwire.message.struct_versions import StructVersions
from tagwire.text_format import suggestion
from tagwire.versions import HIGHEST, Versions
from tagwire_generator.diagnostics.problems import named
from tagwire_generator.model.import_spec import ImportSpec, in_versions_of, united
from tagwire_generator.model.message_spec import MessageSpec
from tagwire_generator.model.struct_spec import StructSpec
from tagwire_generator.model.violations import Violation
from tagwire_generator.reading.context import Part, Reading
from tagwire_generator.reading.keys import keys_of
from tagwire_generator.reading.shared_structs import SharedStructs
from tagwire_generator.reading.values import by_version, items, whole_number
from tagwire_generator.syntax.parse import Node, Object


def _struct_versions(node: Node) -> StructVersions:
    return StructVersions(by_version(node, whole_number))


IMPORT_KEYS: Final = keys_of("import", [ImportSpec], {"structVersions": _struct_versions})


def _import_of(values: Mapping[str, Any]) -> ImportSpec:
    known: dict[str, Any] = {"name": "Unreadable", **values}
    return ImportSpec(**{IMPORT_KEYS[key][0]: value for key, value in known.items()})


@dataclass(frozen=True, slots=True)
class ImportedStruct:
    """A struct that came by an import, and the import that is to blame for what is wrong with it here."""

    spec: StructSpec
    part: Part

    def report(self, reading: Reading, violation: Violation) -> None:
        """Report a violation of the struct at its import."""
        message = violation.message
        if violation.rule != "TW320":
            message = f"{message} (in the imported {self.spec.owner}, as this spec's versions have it)"
        reading.report_violation(Violation(violation.rule, "name", message, violation.needs), self.part)


@dataclass(frozen=True, slots=True)
class Imports:
    """What the imports of a spec bring."""

    imports: tuple[ImportSpec, ...] = ()
    structs: tuple[ImportedStruct, ...] = ()


def read_imports(reading: Reading, node: Object, name: str) -> Imports:
    """The imports of the spec of that name. What can't be found is reported, and nothing that uses it."""
    shared = reading.shared
    listed = [item for item in items(node.get("imports")) if isinstance(item, Object)]
    if len(listed) < len(items(node.get("imports"))) or (listed and shared is None):
        reading.message_wounds.add("structs")
    if not listed or shared is None:
        return Imports()
    if reading.is_draft:
        message = "imports belong to the released dialect, but the spec is in the draft dialect; use commonStructs"
        reading.report("TW701", node.members["imports"], message)
        return Imports()
    uses = _Uses(reading, shared)
    for item in listed:
        uses.add(item, name)
    return Imports(tuple(uses.imports()), tuple(uses.structs()))


class _Uses:
    """The shared structs that one spec uses, directly and through others."""

    def __init__(self, reading: Reading, shared: SharedStructs) -> None:
        self.reading = reading
        self.shared = shared
        self.direct: set[str] = set()
        """The shared structs that the spec imports itself."""
        self.versions: dict[str, StructVersions] = {}
        """By shared struct, in the versions of the spec."""
        self.parts: dict[str, Part] = {}
        """By shared struct, the import that brought it first."""

    def add(self, node: Object, user: str) -> None:
        """One import of the spec called `user`."""
        reading, part = self.reading, Part(node)
        values = {key: reading.value(part, key, convert) for key, (_, convert) in IMPORT_KEYS.items()}
        values = {key: value for key, value in values.items() if value is not None}
        part.wounds |= {"name"} - values.keys()
        spec = reading.build(part, values, _import_of)
        shared = None if part.wounds else self._found(spec, part, user)
        if shared is None:
            reading.message_wounds.add("structs")
            return
        versions = self._checked_versions(spec, part, shared)
        if versions is None:
            reading.message_wounds.add("structs")
            return
        self.direct.add(spec.name)
        self._unite(spec.name, versions, part)
        for each in shared.imports:
            self._unite(each.name, versions.then(each.struct_versions), part)

    def _found(self, spec: ImportSpec, part: Part, user: str) -> MessageSpec | None:
        name, reading = spec.name, self.reading
        known = self.shared.get(name)
        if known is None:
            every = "a shared struct is a spec of type struct in the same set"
            text = f"there is no shared struct {named(name)}; {suggestion(name, self.shared.names(), every)}"
            reading.report("TW314", part.place("name"), text)
            return None
        if name in self.direct:
            reading.report("TW304", part.place("name"), f"{name} is imported already; import it once")
            return None
        way = self.shared.way(name, user) if self.shared.get(user) else ()
        if way:
            text = f"{' holds '.join((user, *way))}: a struct can't contain itself; break the cycle"
            reading.report("TW308", part.place("name"), text)
            return None
        found = None if self.shared.is_circular(name) else self.shared.read(name).message
        if found is None:
            text = f"the shared struct {name} has errors; mend {known.spec.file} first"
            reading.report("TW314", part.place("name"), text, because=known.spec.file)
        return found

    def _checked_versions(self, spec: ImportSpec, part: Part, shared: MessageSpec) -> StructVersions | None:
        valid, ranges = shared.valid_versions, spec.struct_versions.ranges
        text = ""
        if not valid:
            text = f"{spec.name} has no versions any more; remove the import"
        elif not ranges and len(valid) > 1:
            example = f'"structVersions": {{"0+": {valid.lowest}}}'
            text = f"{spec.name} has versions {valid}; say which of them each version uses, as in {example}"
        for versions, number in ranges:
            if number not in valid:
                text = f"versions {versions} use version {number} of {spec.name}, which has versions {valid}"
        if text:
            self.reading.report("TW315", part.place("structVersions"), text)
            return None
        return spec.struct_versions if ranges else StructVersions([(Versions(0, HIGHEST), valid.lowest)])

    def _unite(self, name: str, versions: StructVersions, part: Part) -> None:
        before = self.versions.get(name)
        if before is None:
            self.versions[name], self.parts[name] = versions, part
            return
        both = united(before, versions)
        if isinstance(both, StructVersions):
            self.versions[name] = both
            return
        one, other = before.at(both), versions.at(both)
        text = f"version {both} has {name} in version {one} already, but this import brings its version {other}"
        if one is None or other is None or one == other:
            text = f"up to version {both}, {name} has a later version by one import than after it by another"
        self.reading.report("TW316", part.place("name"), f"{text}; a version of a message has one version of a struct")
        self.reading.message_wounds.add("structs")

    def imports(self) -> Iterator[ImportSpec]:
        """All that is used, with its versions."""
        for name, versions in self.versions.items():
            yield ImportSpec(name=name, struct_versions=versions, is_direct=name in self.direct)

    def structs(self) -> list[ImportedStruct]:
        """The structs of all that is used."""
        found: list[ImportedStruct] = []
        for owner, versions in self.versions.items():
            shared = self.shared.read(owner).message
            assert shared is not None, "what is used could be read"
            is_gone = shared.discouraged == shared.valid_versions
            root = replace(shared.root, about=shared.about, deprecated=shared.deprecated if is_gone else None)
            for struct in (*shared.own_structs, root):
                found.append(ImportedStruct(in_versions_of(struct, versions, owner), self.parts[owner]))
        return found
