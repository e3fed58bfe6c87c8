"""Read a spec's imports of shared structs, and add these structs to the message."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tagwire.errors import SpecError
from tagwire.text_format import suggestion
from tagwire.versions import HIGHEST, StructVersions, Versions
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.import_spec import ImportSpec, in_versions_of, united
from tagwire_generator.model.message_spec import MessageSpec
from tagwire_generator.model.struct_spec import StructGraph, StructSpec
from tagwire_generator.problems import Violation, named
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.settings import SpecSet
from tagwire_generator.project.spec_files import SpecData, find_specs, may_be_shared, spec_data
from tagwire_generator.reading.context import STAND_IN_NAME, Part, Reading
from tagwire_generator.reading.keys import by_version, items, keys_of, whole_number
from tagwire_generator.reading.register import Registers
from tagwire_generator.syntax.parse import Object, parse
from tagwire_generator.syntax.spec_schema import key_kinds, schema

if TYPE_CHECKING:
    from tagwire_generator.reading.spec import ReadResult

Tree = Mapping[str, Any]
"""A spec in normal form (see `syntax.canonical`)."""

_RANGES: Final = ("range", "versions")
_FIRST_KEYS: Final = ("name", "versions", "reservedTags", "fields")
"""The keys of a common struct, in the order in which they are written."""


def without_imports(tree: Tree, spec: MessageSpec, shared: Mapping[str, Tree]) -> dict[str, Any]:
    """Return a copy of a spec that declares imported structs as common structs. `shared` maps names to their trees."""
    result = {key: value for key, value in tree.items() if key != "imports"}
    graph = StructGraph(spec.root, spec.structs)
    present = {struct.name: graph.present[position] for position, struct in enumerate(spec.structs)}
    structs = [
        struct for each in spec.imports for struct in _Inlined(present, each.struct_versions).structs(shared[each.name])
    ]
    if structs:
        result["commonStructs"] = [*structs, *result.get("commonStructs", ())]
    return {key: result[key] for key in key_kinds("message") if key in result}


class _Inlined:
    """Converts a shared struct to common structs of the spec that imports it, with that spec's versions."""

    def __init__(self, present: Mapping[str, Versions], versions: StructVersions) -> None:
        self._present = present
        """The versions of the importing spec in which each struct can be on the wire."""
        self._versions = versions

    def structs(self, tree: Tree) -> Iterator[dict[str, Any]]:
        """Yield the shared struct, and each struct that it declares inline or in commonStructs, as a common struct."""
        for common in tree.get("commonStructs", ()):
            yield from self._struct(common, self._versions.within(Versions.parse(common["versions"])))
        yield from self._struct(tree, self._versions.versions)

    def _struct(self, tree: Tree, versions: Versions) -> Iterator[dict[str, Any]]:
        present = self._present.get(tree["name"])
        if not present:
            return
        inline: list[dict[str, Any]] = []
        fields = [each for each in tree.get("fields", ()) if present & self._within(each["versions"])]
        copies = [self._field(each, inline) for each in fields]
        struct = {**tree, "versions": str(versions), "fields": copies}
        alternatives = Counter(each.get("union") for each in fields)
        for each in copies:
            if alternatives[each.get("union")] == 1:
                each.pop("union", None)
        yield {key: struct[key] for key in _FIRST_KEYS if struct.get(key) or key == "fields"}
        yield from inline

    def _within(self, versions: str) -> Versions:
        return self._versions.within(Versions.parse(versions))

    def _field(self, tree: Tree, inline: list[dict[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, kind in key_kinds("field").items():
            if key not in tree:
                continue
            value = tree[key]
            if kind in _RANGES:
                value = str(self._within(value))
            elif "propertyNames" in schema()["$defs"][kind]:  # an object whose keys are version ranges
                rows = {self._within(each): number for each, number in value.items()}
                value = {str(each): number for each, number in rows.items() if each}
            result[key] = value
        if "fields" in result:
            struct = {**tree, "name": FieldType.parse(tree["type"]).name}
            inline += self._struct(struct, self._within(tree["versions"]))
            result.pop("fields")
            result.pop("reservedTags", None)
        if result.get("taggedVersions") == "none":
            result.pop("tag", None)
            result.pop("taggedVersions")
        return result


@dataclass(frozen=True, slots=True)
class SharedStruct:
    """A spec of type struct: its name and source, and the names of the structs that it imports."""

    name: str
    spec: SpecData
    imports: tuple[str, ...]


class SharedStructs:
    """The shared structs in a set of specs. The specs are searched only when the first import is read."""

    def __init__(
        self, specs: Iterable[SpecData] = (), options: SpecOptions | None = None, registers: Registers | None = None
    ) -> None:
        self._specs = specs
        self._registers = registers
        self._options = options or SpecOptions()
        self._read: dict[str, ReadResult] = {}

    @cached_property
    def _by_name(self) -> dict[str, SharedStruct]:
        found: dict[str, SharedStruct] = {}
        for each in self._specs:
            if not may_be_shared(each.data):
                continue
            root = parse(each.data.decode("utf-8", "replace"), file=each.file).root
            if root is not None and root.text_of("type") == "struct" and (name := root.text_of("name")):
                found.setdefault(name, SharedStruct(name, each, tuple(_imports(root))))
        return found

    def names(self) -> list[str]:
        return sorted(self._by_name)

    def get(self, name: str) -> SharedStruct | None:
        return self._by_name.get(name)

    def read(self, name: str) -> "ReadResult":
        """Read a shared struct, which must not import itself. Raises KeyError if there is no such struct."""
        if name not in self._read:
            self._read[name] = self.read_spec(self._by_name[name].spec)
        return self._read[name]

    def read_spec(self, spec: SpecData) -> "ReadResult":
        """Read a spec of the set, with the set's options and registers. Never raises an error."""
        from tagwire_generator.reading.spec import read_data

        known: dict[str, Any] = {"options": self._options, "registers": self._registers, "shared": self}
        return read_data(spec.data, file=spec.file, component=spec.component, **known)

    def is_circular(self, name: str) -> bool:
        """Return whether the imports that begin at a shared struct contain a cycle."""
        return any(self.path(each, path[-1]) for path in self._paths(name) for each in self._imports(path[-1]))

    def path(self, start: str, goal: str) -> tuple[str, ...]:
        """Return the import path from one shared struct to another, including both, or empty if there is none."""
        return next((path for path in self._paths(start) if path[-1] == goal), ())

    def _imports(self, name: str) -> tuple[str, ...]:
        known = self.get(name)
        return known.imports if known else ()

    def _paths(self, start: str) -> Iterator[tuple[str, ...]]:
        """Yield the shortest import path to each name that a shared struct imports, directly or not."""
        paths: list[tuple[str, ...]] = [(start,)]
        seen = {start}
        for path in paths:
            yield path
            for name in self._imports(path[-1]):
                if name not in seen:
                    seen.add(name)
                    paths.append((*path, name))


def _imports(root: Object) -> Iterator[str]:
    for each in items(root.get("imports")):
        if isinstance(each, Object) and (name := each.text_of("name")):
            yield name


def specs_near(path: Path, spec_set: SpecSet | None) -> Iterator[SpecData]:
    """Yield all specs of `spec_set`. If it is None, yield all specs in the folder `path` or next to the file `path`."""
    own = path if path.is_dir() else path.parent
    for folder in spec_set.sources if spec_set else (own,):
        with suppress(SpecError):  # the folder's errors are reported elsewhere
            for each in find_specs(folder):
                yield spec_data(each, file=os.path.relpath(each.path))


NO_SHARED_STRUCTS: Final = SharedStructs()
"""An empty set of shared structs, which is used if a spec is read on its own."""


IMPORT_KEYS: Final = keys_of(
    "import", [ImportSpec], {"structVersions": lambda node: StructVersions(by_version(node, whole_number))}
)


def _import_of(values: Mapping[str, Any]) -> ImportSpec:
    known: dict[str, Any] = {"name": STAND_IN_NAME.format(0, 0), **values}
    return ImportSpec(**{IMPORT_KEYS[key][0]: value for key, value in known.items()})


@dataclass(frozen=True, slots=True)
class ImportedStruct:
    """A struct that a spec imports. Errors in the struct are reported at the position of the import (`part`)."""

    spec: StructSpec
    part: Part

    def report(self, reading: Reading, violation: Violation) -> None:
        """Report a violation in an imported struct, at the position of the import."""
        message = violation.message
        if violation.rule != "TW320":
            message = f"{message} (in the imported {self.spec.owner}, as this spec's versions have it)"
        reading.report_violation(Violation(violation.rule, "name", message, violation.needs), self.part)


def read_imports(
    reading: Reading, node: Object, name: str
) -> tuple[tuple[ImportSpec, ...], tuple[ImportedStruct, ...]]:
    """Read a spec's imports. Return them, and the structs that they add to the message.

    An invalid import is reported only once, not for each field that uses the struct.
    """
    shared = reading.shared
    listed = [item for item in items(node.get("imports")) if isinstance(item, Object)]
    if len(listed) < len(items(node.get("imports"))) or (listed and shared is None):
        reading.broken_message_keys.add("structs")
    if not listed or shared is None:
        return (), ()
    if reading.is_draft:
        message = "imports belong to the released dialect, but the spec is in the draft dialect; use commonStructs"
        reading.report("TW701", node.members["imports"], message)
        return (), ()
    uses = _Uses(reading, shared)
    for item in listed:
        uses.add(item, name)
    return tuple(uses.imports()), tuple(uses.structs())


class _Uses:
    """Collects the shared structs that a spec uses, directly or through other shared structs, and their versions."""

    def __init__(self, reading: Reading, shared: SharedStructs) -> None:
        self.reading = reading
        self.shared = shared
        self.direct: set[str] = set()
        """The names of the shared structs that the spec itself imports."""
        self.versions: dict[str, StructVersions] = {}
        """The versions of each shared struct, by version of the spec."""
        self.parts: dict[str, Part] = {}
        """The first import that leads to each shared struct."""

    def add(self, node: Object, user: str) -> None:
        """Add an import that `user` declares. `user` is the spec itself, or a shared struct that the spec imports."""
        reading, part = self.reading, Part(node)
        values = {key: reading.value(part, key, convert) for key, (_, convert) in IMPORT_KEYS.items()}
        values = {key: value for key, value in values.items() if value is not None}
        part.broken_keys |= {"name"} - values.keys()
        spec = reading.build(part, values, _import_of)
        shared = None if part.broken_keys else self._found(spec, part, user)
        if shared is None:
            reading.broken_message_keys.add("structs")
            return
        versions = self._checked_versions(spec, part, shared)
        if versions is None:
            reading.broken_message_keys.add("structs")
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
            reading.report("TW314", part.node_of("name"), text)
            return None
        if name in self.direct:
            reading.report("TW304", part.node_of("name"), f"{name} is already imported; import it once")
            return None
        path = self.shared.path(name, user) if self.shared.get(user) else ()
        if path:
            text = f"{' contains '.join((user, *path))}: a struct can't contain itself; break the cycle"
            reading.report("TW308", part.node_of("name"), text)
            return None
        found = None if self.shared.is_circular(name) else self.shared.read(name).message
        if found is None:
            text = f"the shared struct {name} has errors; fix {known.spec.file} first"
            reading.report("TW314", part.node_of("name"), text, because=known.spec.file)
        return found

    def _checked_versions(self, spec: ImportSpec, part: Part, shared: MessageSpec) -> StructVersions | None:
        valid, ranges = shared.valid_versions, spec.struct_versions.ranges
        text = ""
        if not valid:
            text = f"{spec.name} no longer has versions; remove the import"
        elif not ranges and len(valid) > 1:
            example = f'"structVersions": {{"0+": {valid.lowest}}}'
            text = f"{spec.name} has versions {valid}; list the version that each version uses, as in {example}"
        for versions, number in ranges:
            if number not in valid:
                text = f"versions {versions} use version {number} of {spec.name}, which has versions {valid}"
        if text:
            self.reading.report("TW315", part.node_of("structVersions"), text)
            return None
        return spec.struct_versions if ranges else StructVersions(((Versions(0, HIGHEST), valid.lowest),))

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
        text = f"version {both} already uses version {one} of {name}, but this import uses version {other}"
        if one is None or other is None or one == other:
            text = f"before version {both}, one import uses a later version of {name} than another import does later"
        self.reading.report("TW316", part.node_of("name"), f"{text}; use one version of a struct per message version")
        self.reading.broken_message_keys.add("structs")

    def imports(self) -> Iterator[ImportSpec]:
        """Yield the direct and indirect imports, with the struct versions that the spec uses."""
        for name, versions in self.versions.items():
            yield ImportSpec(name=name, struct_versions=versions, is_direct=name in self.direct)

    def structs(self) -> list[ImportedStruct]:
        """Return all imported structs. Their version ranges are converted to versions of the importing spec."""
        found: list[ImportedStruct] = []
        for owner, versions in self.versions.items():
            shared = self.shared.read(owner).message
            assert shared is not None, "what is used could be read"
            is_gone = shared.discouraged == shared.valid_versions
            root = replace(shared.root, about=shared.about, deprecated=shared.deprecated if is_gone else None)
            for struct in (*shared.own_structs, root):
                found.append(ImportedStruct(in_versions_of(struct, versions, owner), self.parts[owner]))
        return found
