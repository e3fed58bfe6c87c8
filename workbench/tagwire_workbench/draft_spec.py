"""Add a version to a message, with the optional fields of KIP-482's first draft.

The draft adds a version to each RPC. In this version, each struct begins with its optional fields. Kafka later chose
another design: tagged fields in flexible versions. Only non-flexible versions are the same in both designs, so flexible
versions are removed first.

These functions don't modify their arguments. Specs must be valid and in normal form (`canonical.normal_form`).

Source: the first draft of KIP-482 ("a new version of all the existing RPCs").
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tagwire.errors import SpecError
from tagwire.versions import HIGHEST, Versions
from tagwire_generator.syntax.canonical import ranges_from

Spec = Mapping[str, Any]
Tree = dict[str, Any]

_RANGES: Final = ("versions", "nullableVersions", "taggedVersions", "flexibleVersions", "deprecatedVersions")
"""The keys of fields and structs whose value is a version range."""
_RELEASED_KEYS: Final = ("flexibleVersions", "tag", "taggedVersions", "reservedTags")
"""Keys that are left out of drafts, because they have no effect in non-flexible versions."""
_PLAIN_HEADERS: Final = {"request": "1", "response": "0"}


def is_draft(spec: Spec) -> bool:
    """Return whether a spec is in the draft dialect, which has the key `versionsWithOptional`."""
    return "versionsWithOptional" in spec


def first_flexible(spec: Spec) -> int:
    """Return the lowest flexible version, or HIGHEST + 1 if there is none."""
    flexible = _range(spec, "flexibleVersions")
    return flexible.lowest if flexible else HIGHEST + 1


def cut_to_plain(spec: Spec, below: int | None = None) -> Tree | None:
    """Return the spec with only the versions before `below`, or None if no version is left.

    By default, `below` is the first flexible version. Fields, structs and headers that exist only in the removed
    versions are removed. A range that extended into the removed versions becomes open-ended. A draft is returned
    unchanged.
    """
    if is_draft(spec):
        return dict(spec)
    end = first_flexible(spec) if below is None else below
    if end <= _range(spec, "validVersions").lowest:
        return None
    return _plain(spec if end > HIGHEST else _restricted(spec, Versions(0, end - 1)))


def with_new_version(spec: Spec) -> Tree:
    """Return the spec with one more version: the fields of the last version, plus optional fields.

    A field whose range ends at the highest version is not in the new version. Existing versions with optional fields
    are kept. Raises SpecError if a valid version is flexible.
    """
    valid = _range(spec, "validVersions")
    flexible = _range(spec, "flexibleVersions") & valid
    if flexible:
        raise SpecError(
            f"{spec['name']}: versions {flexible} are flexible, and a spec can't have both flexible versions and "
            "versions with optional fields; remove the flexible versions from the spec first"
        )
    new = Versions(valid.lowest, valid.highest + 1)
    return _draft(spec, new, _range(spec, "versionsWithOptional") or Versions(new.highest, HIGHEST))


def restated(spec: Spec) -> Tree:
    """Convert a message without non-flexible versions to the dialect of KIP-482's first draft.

    The result has only the message's lowest version. It becomes non-flexible and loses its tagged fields.
    """
    lowest = _range(spec, "validVersions").lowest
    plain = _plain(_restricted(spec, Versions(lowest, lowest)))
    if "headerVersions" in plain:
        plain["headerVersions"] = {"0+": _PLAIN_HEADERS[spec["type"]]}
    return _draft(plain, Versions(lowest, lowest), Versions(lowest, HIGHEST))


def only_version(spec: Spec) -> Tree:
    """Return the spec with only its highest version, and without `ignorable`, which needs several versions."""
    highest = _range(spec, "validVersions").highest
    kept = _restricted(spec, Versions(highest, highest))
    return _mapped(kept, lambda member: {key: value for key, value in member.items() if key != "ignorable"})


def field_paths(spec: Spec) -> Iterator[str]:
    """Yield field paths such as `Topics.Partitions.Leader`. Paths in a common struct begin with its name."""
    yield from _paths(spec, "")
    for struct in spec.get("commonStructs", ()):
        yield from _paths(struct, f"{struct['name']}.")


def _paths(struct: Spec, prefix: str) -> Iterator[str]:
    for field in (*struct.get("fields", ()), *struct.get("optionalFields", ())):
        yield prefix + field["name"]
        yield from _paths(field, f"{prefix}{field['name']}.")


def _range(spec: Spec, key: str) -> Versions:
    return Versions.parse(spec.get(key, "none"))


def _plain(spec: Spec) -> Tree:
    """Return the spec without flexible versions, tagged fields and reserved tags."""

    def plain(member: Spec) -> Tree | None:
        if "taggedVersions" in member:
            return None
        return {key: value for key, value in member.items() if key not in _RELEASED_KEYS}

    kept = {key: value for key, value in spec.items() if key not in _RELEASED_KEYS}
    return _without_unused({**_mapped(kept, plain), "flexibleVersions": "none"})


def _draft(spec: Spec, valid: Versions, optional: Versions) -> Tree:
    kept = {key: value for key, value in spec.items() if key != "flexibleVersions"}
    return {**kept, "validVersions": str(valid), "versionsWithOptional": str(optional)}


def _restricted(spec: Spec, window: Versions) -> Tree:
    """Reduce a spec to the versions in `window`. A range that extends beyond `window` becomes open-ended."""
    valid = _range(spec, "validVersions")
    kept = valid & window
    restricted: Tree = {**spec, "validVersions": str(kept)}
    for key in ("flexibleVersions", "versionsWithOptional"):
        if key in spec:
            restricted[key] = _clipped(spec[key], window) or "none"
    if "deprecatedVersions" in spec:
        restricted["deprecatedVersions"] = str(_range(spec, "deprecatedVersions") & kept)
    if kept.highest < valid.highest:
        restricted.pop("latestVersionUnstable", None)
    if "headerVersions" in spec:
        restricted["headerVersions"] = _by_version(spec["headerVersions"], Versions(0, kept.highest))
    if "fallback" in spec and spec["fallback"]["version"] not in kept:
        del restricted["fallback"]
    return _without_unused(_mapped(restricted, lambda member: _restricted_member(member, window)))


def _restricted_member(member: Spec, window: Versions) -> Tree | None:
    """Limit the version ranges of a field or common struct to `window`. Return None if no version is left."""
    ranges: Tree = {key: _clipped(member[key], window) for key in _RANGES if key in member}
    if "versions" in ranges and ranges["versions"] is None:
        return None
    if "recordFormats" in member:
        ranges["recordFormats"] = _by_version(member["recordFormats"], window)
    kept = {key: ranges.get(key, value) for key, value in member.items()}
    return {key: value for key, value in kept.items() if value is not None}


def _clipped(text: str, window: Versions) -> str | None:
    versions = Versions.parse(text)
    if not versions & window:
        return None
    highest = versions.highest if versions.highest <= window.highest else HIGHEST
    return str(Versions(max(versions.lowest, window.lowest), highest))


def _by_version(values: Mapping[str, str], window: Versions) -> Tree:
    """Cut the version ranges that are the keys of `values` to `window`. The last range becomes open-ended."""
    rows = ((Versions.parse(text), value) for text, value in values.items())
    kept = {max(versions.lowest, window.lowest): value for versions, value in rows if versions & window}
    return ranges_from(dict(sorted(kept.items())))


def _without_unused(spec: Spec) -> Tree:
    common = {struct["name"]: struct for struct in spec.get("commonStructs", ())}
    used: set[str] = set()

    def follow(struct: Spec) -> None:
        for field in (*struct.get("fields", ()), *struct.get("optionalFields", ())):
            name = field["type"].lstrip("[]")
            follow(field)
            if name in common and name not in used:
                used.add(name)
                follow(common[name])

    follow(spec)
    rest = {key: value for key, value in spec.items() if key != "commonStructs"}
    return {**rest, "commonStructs": [struct for name, struct in common.items() if name in used]} if used else rest


def _mapped(struct: Spec, change: Callable[[Spec], Tree | None]) -> Tree:
    """Apply `change` to all fields and common structs, at every level. If it returns None, drop the field or struct."""
    result = dict(struct)
    for key in ("fields", "optionalFields", "commonStructs"):
        if key in struct:
            changed = (change(member) for member in struct[key])
            result[key] = [_mapped(member, change) for member in changed if member is not None]
    return result
