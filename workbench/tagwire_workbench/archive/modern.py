"""Convert coordinator records to the form of Kafka 4.1: a key has a record type, which identifies its value.

The two bytes before a coordinator record's key are its type. Up to Kafka 4.0, specs described this type as the key's
version (`GroupMetadataKey`, version 2). Since 4.1, the number is the key's `apiKey`, and the key has only version 0.
The bytes are the same. A key with two versions (`OffsetCommitKey`, 0 and 1) becomes two messages: `OffsetCommitKey` for
version 1, and `LegacyOffsetCommitKey` for version 0.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from tagwire.errors import SpecError
from tagwire.versions import NONE, Versions
from tagwire_generator.syntax.canonical import normal_form
from tagwire_workbench.archive.release import ImportedSpec, wire_forms

_COORDINATORS: Final = ("group", "transaction", "share")
_RANGES: Final = ("versions", "nullableVersions", "taggedVersions", "flexibleVersions")


def modern_records(specs: Iterable[ImportedSpec]) -> list[ImportedSpec]:
    """Return the specs of a release, with coordinator records converted to the form of Kafka 4.1.

    Raises SpecError for a key that can't be converted, because it has more than two types or is flexible.
    """
    all_specs = list(specs)
    keys = {
        (spec.component, spec.name.removesuffix("Key")): Versions.parse(spec.spec["validVersions"])
        for spec in all_specs
        if spec.name.endswith("Key") and _is_old_record(spec)
    }
    found: list[ImportedSpec] = []
    for spec in all_specs:
        types = keys.get((spec.component, spec.name.removesuffix("Key").removesuffix("Value")))
        if not types or not _is_old_record(spec):
            found.append(spec)
        elif spec.name.endswith("Key"):
            found += _keys(spec, types)
        else:
            form = {**spec.spec, "apiKey": types.highest, "type": "coordinator-value"}
            found.append(replace(spec, spec=normal_form(form)))
    return found


def _is_old_record(spec: ImportedSpec) -> bool:
    return spec.spec["type"] == "data" and spec.component in _COORDINATORS


def _keys(spec: ImportedSpec, types: Versions) -> list[ImportedSpec]:
    if len(types) > 2:
        raise SpecError(
            f"{spec.origin}: {spec.name} has versions {types}, each for a different type of record; at most two types "
            "of record can be mapped to their current specs",
            file=spec.origin,
        )
    if spec.spec["flexibleVersions"] != "none":
        raise SpecError(
            f"{spec.origin}: the key {spec.name} has flexibleVersions {spec.spec['flexibleVersions']}; keys of "
            "coordinator records are never flexible",
            file=spec.origin,
        )
    return [_key(spec, type, is_newest=type == types.highest) for type in types]


def _key(spec: ImportedSpec, type: int, *, is_newest: bool) -> ImportedSpec:
    """Make the spec of one record type's key from an old key spec, in which the type is a version number."""
    name = spec.name if is_newest else f"Legacy{spec.name}"
    form = {
        **_at_version(spec.spec, type),
        "apiKey": type,
        "type": "coordinator-key",
        "name": name,
        "validVersions": "0",
        "flexibleVersions": "none",
    }
    key = replace(spec, name=name, spec=normal_form(form))
    assert wire_forms(key.spec)[0] == wire_forms(spec.spec)[type], "the bytes of a key are not its version's to change"
    return key


def _at_version(node: Mapping[str, Any], version: int) -> dict[str, Any]:
    """Return a message or field as it is in one version, with that version renumbered as 0."""
    found: dict[str, Any] = {}
    for key, value in node.items():
        if key in _RANGES:
            found[key] = str(Versions(0, 0) if version in Versions.parse(value) else NONE)
        elif key in ("fields", "commonStructs"):
            found[key] = [_at_version(each, version) for each in value if version in Versions.parse(each["versions"])]
        else:
            found[key] = value
    return found
