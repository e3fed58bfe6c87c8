"""A spec as one that needs no other: imported structs become common structs, in the versions of the spec.

For what must stand alone: a lock file, and specs for Kafka's own generator. It
says in the spec language what `model.import_spec` says of the model.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tagwire.message.struct_versions import StructVersions
from tagwire.versions import Versions
from tagwire_generator.model.message_spec import MessageSpec
from tagwire_generator.syntax.spec_schema import key_kinds, schema

__all__ = ["without_imports"]

Tree = Mapping[str, Any]
"""A spec in normal form."""

_RANGES: Final = ("range", "versions")
_HEAD: Final = ("name", "versions", "reservedTags", "fields")
"""The keys of a common struct, in their order."""


def without_imports(tree: Tree, spec: MessageSpec, shared: Mapping[str, Tree]) -> dict[str, Any]:
    """The tree of a spec with all structs that it uses; `shared` are the trees of the shared ones, by name."""
    made = {key: value for key, value in tree.items() if key != "imports"}
    structs = [struct for each in spec.imports for struct in _structs(shared[each.name], each.struct_versions)]
    if structs:
        made["commonStructs"] = [*structs, *made.get("commonStructs", ())]
    return {key: made[key] for key in key_kinds("message") if key in made}


def _structs(tree: Tree, versions: StructVersions) -> Iterator[dict[str, Any]]:
    """A shared struct and its own structs, as common structs of a user."""
    for common in tree.get("commonStructs", ()):
        yield _struct(common, versions.within(Versions.parse(common["versions"])), versions)
    inline: list[dict[str, Any]] = []
    yield _struct(tree, versions.versions, versions, inline)
    yield from inline


def _struct(
    tree: Tree, there: Versions, versions: StructVersions, inline: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    members = [_field(each, versions, [] if inline is None else inline) for each in tree.get("fields", ())]
    made = {**tree, "versions": str(there), "fields": members}
    return {key: made[key] for key in _HEAD if key in made}


def _field(tree: Tree, versions: StructVersions, inline: list[dict[str, Any]]) -> dict[str, Any]:
    """A field in the versions of a user; the struct that it declares joins `inline`, since common ones declare none."""
    made: dict[str, Any] = {}
    for key, kind in key_kinds("field").items():
        if key not in tree:
            continue
        value = tree[key]
        if kind in _RANGES:
            value = str(versions.within(Versions.parse(value)))
        elif _is_by_version(kind):
            rows = {versions.within(Versions.parse(each)): said for each, said in value.items()}
            value = {str(each): said for each, said in rows.items() if each}
        made[key] = value
    if "fields" in made:
        struct = {**made, "name": str(tree["type"]).removeprefix("[]"), "reservedTags": tree.get("reservedTags", [])}
        members = [_field(each, versions, inline) for each in tree["fields"]]
        inline.append({key: struct[key] for key in _HEAD if struct.get(key)} | {"fields": members})
        made.pop("fields")
        made.pop("reservedTags", None)
    if made.get("taggedVersions") == "none":
        made.pop("tag", None)
        made.pop("taggedVersions")
    return made


def _is_by_version(kind: str) -> bool:
    """Whether the values of a kind are objects whose keys are ranges of versions."""
    return "propertyNames" in schema()["$defs"][kind]
