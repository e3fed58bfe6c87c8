"""A spec that needs no other: imported structs become common structs, in the versions of the spec.

Lock files and specs for Kafka's own generator have no imports. This module does
in the spec language what `model.import_spec` does in the model.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tagwire.message.struct_versions import StructVersions
from tagwire.versions import Versions
from tagwire_generator.model.message_spec import MessageSpec
from tagwire_generator.model.struct_graph import StructGraph
from tagwire_generator.syntax.spec_schema import key_kinds, schema

Tree = Mapping[str, Any]
"""A spec in normal form."""

_RANGES: Final = ("range", "versions")
_HEAD: Final = ("name", "versions", "reservedTags", "fields")
"""The keys of a common struct, in their order."""


def without_imports(tree: Tree, spec: MessageSpec, shared: Mapping[str, Tree]) -> dict[str, Any]:
    """Return the tree of a spec with all structs that it uses; `shared` has the trees of the shared ones by name."""
    made = {key: value for key, value in tree.items() if key != "imports"}
    graph = StructGraph(spec.root, spec.structs)
    present = {struct.name: graph.present[position] for position, struct in enumerate(spec.structs)}
    structs = [
        struct for each in spec.imports for struct in _Inlined(present, each.struct_versions).structs(shared[each.name])
    ]
    if structs:
        made["commonStructs"] = [*structs, *made.get("commonStructs", ())]
    return {key: made[key] for key in key_kinds("message") if key in made}


class _Inlined:
    """A shared struct and its own structs as common structs of a user, without what no version of the user has."""

    def __init__(self, present: Mapping[str, Versions], versions: StructVersions) -> None:
        self._present = present
        """The versions of the user in which each struct can be on the wire."""
        self._versions = versions

    def structs(self, tree: Tree) -> Iterator[dict[str, Any]]:
        """The common structs; those that fields declare come last, since a common struct can't declare one."""
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
        made = {**tree, "versions": str(versions), "fields": copies}
        alternatives = Counter(each.get("union") for each in fields)
        for each in copies:
            if alternatives[each.get("union")] == 1:
                each.pop("union", None)
        yield {key: made[key] for key in _HEAD if made.get(key) or key == "fields"}
        yield from inline

    def _within(self, versions: str) -> Versions:
        return self._versions.within(Versions.parse(versions))

    def _field(self, tree: Tree, inline: list[dict[str, Any]]) -> dict[str, Any]:
        """A field in the versions of the user; the struct that it declares joins `inline`."""
        made: dict[str, Any] = {}
        for key, kind in key_kinds("field").items():
            if key not in tree:
                continue
            value = tree[key]
            if kind in _RANGES:
                value = str(self._within(value))
            elif _is_by_version(kind):
                rows = {self._within(each): said for each, said in value.items()}
                value = {str(each): said for each, said in rows.items() if each}
            made[key] = value
        if "fields" in made:
            struct = {**tree, "name": str(tree["type"]).removeprefix("[]")}
            inline += self._struct(struct, self._within(tree["versions"]))
            made.pop("fields")
            made.pop("reservedTags", None)
        if made.get("taggedVersions") == "none":
            made.pop("tag", None)
            made.pop("taggedVersions")
        return made


def _is_by_version(kind: str) -> bool:
    """Whether the values of a kind are objects whose keys are ranges of versions."""
    return "propertyNames" in schema()["$defs"][kind]
