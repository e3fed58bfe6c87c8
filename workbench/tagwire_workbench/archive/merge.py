"""Merge a newer and an older spec of one message into a spec with the versions of both.

The newer spec determines its own versions and all names. The older spec adds the versions that the newer spec dropped.
Fields are paired by their wire positions in common versions (`FieldPairing`), so renamed fields are recognized. Each
merged field covers the versions in which either spec has the field.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from tagwire.errors import SpecError
from tagwire.layout import StructLayout, nested_struct
from tagwire.message.field_table import layout_of
from tagwire.versions import HIGHEST, NONE, Versions
from tagwire_generator.message_classes import message_class
from tagwire_generator.syntax.canonical import normal_form, ranges_from
from tagwire_workbench.archive.wire_facts import message_of, wire_forms

Spec = Mapping[str, Any]
"""A spec in normal form (see `canonical.normal_form`), or a part of such a spec."""


# Pair the fields of an older and a newer spec by their wire positions.
#
# If a version has the same bytes in both specs, fields at the same index correspond, even if they were renamed. Fields
# that exist only in versions dropped by the newer release are paired by name and type.


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
        """Pair the fields of two structs by position, and those of nested structs. Their wire formats must match."""
        self.structs.setdefault(older.name, newer.name)
        for ours, theirs in zip(newer.fields, older.fields, strict=True):
            key = (newer.name, older.name, theirs.json_name.lower())
            known = self._fields.setdefault(key, ours.json_name.lower())
            if known != ours.json_name.lower():
                raise SpecError(
                    f"{self.name}: the older field {older.name}.{theirs.json_name} corresponds to the newer "
                    f"field {known} in one version, but to {ours.json_name} in another; an older field can't be "
                    "replaced by two newer fields"
                )
            inner, outer = nested_struct(ours.type), nested_struct(theirs.type)
            if inner is not None and outer is not None:
                self.add(inner, outer)

    def fields(
        self, newer_struct: str, older_struct: str, ours: Sequence[Spec], theirs: Sequence[Spec]
    ) -> dict[str, str]:
        """Map the names of older fields to names of newer fields. Fields that `add` didn't pair are paired by name.

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
    """Pair the fields of two specs by position, in each of the `shared` versions whose wire format is the same in both.

    Raises SpecError if an older field has different partners in two versions.
    """
    pairing = FieldPairing(newer["name"])
    forms = wire_forms(dict(newer)), wire_forms(dict(older))
    classes = [message_class(message_of(dict(spec))) for spec in (newer, older)]
    for version in shared:
        if forms[0][version] == forms[1][version]:
            ours, theirs = (layout_of(cls, version).root for cls in classes)
            pairing.add(ours, theirs)
    return pairing


_RANGES: Final = ("nullableVersions", "taggedVersions", "flexibleVersions")


def merged(newer: Spec, older: Spec) -> dict[str, Any]:
    """Return the newer spec, extended by the versions that only the older spec has.

    Raises SpecError if no single spec can describe all these versions: the ranges have gaps, fields can't be paired, or
    the result breaks another rule of the spec language.
    """
    ours, theirs = (set(Versions.parse(spec["validVersions"])) for spec in (newer, older))
    added = theirs - ours
    if not added:
        return dict(newer)
    if not ours:  # the API was removed, so the newer spec has no versions
        return normal_form({**older, "name": newer["name"]})
    if "versionsWithOptional" in newer or "versionsWithOptional" in older:
        raise SpecError(
            f"{newer['name']}: specs in the draft dialect, which have the key 'versionsWithOptional', can't be merged"
        )
    spec = _Merge(newer, older, ours, added).spec()
    try:
        message_of(spec)
    except SpecError as error:
        raise SpecError(
            f"the merged spec of {spec['name']} would break rules of the spec language:\n{error}"
        ) from error
    return spec


@dataclass(frozen=True)
class _Sides:
    """How the newer and the older spec declare a struct, and for which versions each declaration is used."""

    newer: Spec | None
    older: Spec | None
    ours: frozenset[int]
    added: frozenset[int]


class _Merge:
    def __init__(self, newer: Spec, older: Spec, ours: set[int], added: set[int]) -> None:
        self.newer = newer
        self.older = older
        every = range(min(ours | added), max(ours | added))
        self.valid = _without_gap(ours | added, set(every) - ours - added, f"{newer['name']}: validVersions")
        self.root = _Sides(newer, older, frozenset(ours), frozenset(added))
        self.pairing: FieldPairing = paired(newer, older, sorted(ours & set(Versions.parse(older["validVersions"]))))
        self.common = {
            side: {each["name"]: each for each in spec.get("commonStructs", ())} for side, spec in self.sides()
        }
        self.used: dict[str, list[_Sides]] = {}
        """The uses of each common struct, by the struct's name in the merged spec."""

    def sides(self) -> tuple[tuple[str, Spec], tuple[str, Spec]]:
        return ("newer", self.newer), ("older", self.older)

    def spec(self) -> dict[str, Any]:
        fields = self.fields(self.root, self.newer["name"], self.older["name"])
        result = {
            **self.older,
            **self.newer,
            "validVersions": str(self.valid),
            "fields": fields,
            "commonStructs": self.common_structs(),
        }
        for key in ("deprecatedVersions", "flexibleVersions"):
            text = self.message_range(key)
            result.pop(key, None)
            result |= {} if text is None else {key: text}
        last = self.newer if self.valid.highest in self.root.ours else self.older
        result["latestVersionUnstable"] = last.get("latestVersionUnstable", False)
        result["headerVersions"] = self.by_version("headerVersions", self.newer, self.older, self.root) or None
        return normal_form(result)

    def message_range(self, key: str) -> str | None:
        """Merge the two specs' ranges for a key of the message, such as `flexibleVersions`."""
        declared = {side: Versions.parse(spec[key]) if key in spec else NONE for side, spec in self.sides()}
        inside = {v for v in self.root.ours if v in declared["newer"]} | {
            v for v in self.root.added if v in declared["older"]
        }
        outside = (self.root.ours | self.root.added) - inside
        return _version_range(self.newer.get(key), inside, outside, f"{self.newer['name']}: {key}")

    def by_version(self, key: str, newer: Spec | None, older: Spec | None, sides: _Sides) -> Mapping[str, str]:
        """Merge `key`, which maps version ranges to values. Each spec determines the values of its own versions."""
        ours: Mapping[str, str] = (newer or {}).get(key, {})
        theirs: Mapping[str, str] = (older or {}).get(key, {})
        values = {v: _value_for(ours or theirs, v) for v in sides.ours}
        values |= {v: _value_for(theirs or ours, v) for v in sides.added}
        if all(_value_for(ours, v) == value for v, value in values.items()):
            return ours
        starts = [v for v in sorted(values) if values.get(v - 1) != values[v]]
        return ranges_from({v if v > starts[0] else 0: values[v] for v in starts})

    def fields(self, sides: _Sides, newer_struct: str, older_struct: str) -> list[dict[str, Any]]:
        """Return a struct's merged fields. Fields that only the older spec has keep their relative positions."""
        ours = list(sides.newer["fields"]) if sides.newer else []
        theirs = list(sides.older["fields"]) if sides.older else []
        partners = self.pairing.fields(newer_struct, older_struct, ours, theirs)
        fields = (self.field(sides, new, old) for new, old in _interleaved(ours, theirs, partners))
        return [field for field in fields if field is not None]

    def field(self, sides: _Sides, new: Spec | None, old: Spec | None) -> dict[str, Any] | None:
        ours = {v for v in sides.ours if new and v in Versions.parse(new["versions"])}
        theirs = {v for v in sides.added if old and v in Versions.parse(old["versions"])}
        if new is None and not theirs:
            return None  # the field isn't in any version of the result
        base: Spec = new or old or {}
        every = sides.ours | sides.added
        where = f"{self.newer['name']}.{base['name']}"
        result = {**base, "versions": _version_range(base["versions"], ours | theirs, every - ours - theirs, where)}
        for key in _RANGES:
            inside = _within(ours, self.newer, new, key) | _within(theirs, self.older, old, key)
            own = key == "flexibleVersions" and not (new and key in new) and not (old and key in old)
            # A field can only be tagged in its own versions (TW605).
            about = every if key == "taggedVersions" else ours | theirs
            text = None if own else _version_range(base.get(key), inside, about - inside, f"{where}: {key}")
            result.pop(key, None)
            result |= {} if text is None else {key: text}
        sides = _Sides(new, old, frozenset(ours), frozenset(theirs))
        result["recordFormats"] = self.by_version("recordFormats", new, old, sides) or None
        return self.with_struct(result, sides)

    def with_struct(self, field: dict[str, Any], sides: _Sides) -> dict[str, Any]:
        """Return the field with its inline struct merged. Common structs are merged later, by `common_structs`."""
        name = _struct_name(field["type"])
        if not name:
            return field
        if sides.newer is None and self.pairing.structs.get(name) in self.common["newer"]:
            field = {**field, "type": field["type"].replace(name, self.pairing.structs[name])}
            name = self.pairing.structs[name]
        newer, older = (self.declared(side, spec) for side, spec in (("newer", sides.newer), ("older", sides.older)))
        both = _Sides(newer, older, sides.ours, sides.added)
        if "fields" in field:
            names = [_struct_name(spec["type"]) if spec else "" for spec in (sides.newer, sides.older)]
            return {**field, "fields": self.fields(both, names[0], names[1])}
        self.used.setdefault(name, []).append(both)
        return field

    def declared(self, side: str, field: Spec | None) -> Spec | None:
        """Return the JSON object that declares a field's struct: the field itself, or the common struct it names."""
        if field is None:
            return None
        return field if "fields" in field else self.common[side][_struct_name(field["type"])]

    def common_structs(self) -> list[dict[str, Any]]:
        """Return the merged common structs that fields use. A struct gets every version in which a field uses it."""
        order = [*self.common["newer"], *(name for name in self.common["older"] if name not in self.common["newer"])]
        found: dict[str, dict[str, Any]] = {}
        while pending := [name for name in self.used if name not in found]:
            name = pending[0]
            sides = _joined(self.used[name])
            base: Spec = sides.newer or sides.older or {}
            fields = self.fields(sides, (sides.newer or {}).get("name", ""), (sides.older or {}).get("name", ""))
            text = _version_range(
                base["versions"], set(sides.ours | sides.added), set(), f"{self.newer['name']}.{name}"
            )
            found[name] = {**base, "name": name, "versions": text, "fields": fields}
        return sorted(found.values(), key=lambda struct: order.index(struct["name"]) if struct["name"] in order else -1)


def _joined(uses: Sequence[_Sides]) -> _Sides:
    ours = frozenset[int]().union(*(use.ours for use in uses))
    added = frozenset[int]().union(*(use.added for use in uses))
    newer = next((use.newer for use in uses if use.newer), None)
    older = next((use.older for use in uses if use.older), None)
    return _Sides(newer, older, ours, added)


def _struct_name(type: str) -> str:
    bare = type.removeprefix("[]")
    return bare if bare[:1].isupper() else ""


def _value_for(by_version: Mapping[str, str], version: int) -> str:
    """Look up a version in a mapping from version ranges to values. Return "" if no range contains the version."""
    found = (value for versions, value in by_version.items() if version in Versions.parse(versions))
    return next(found, "")


def _interleaved(
    ours: Sequence[Spec], theirs: Sequence[Spec], partners: Mapping[str, str]
) -> Iterable[tuple[Spec | None, Spec | None]]:
    """Yield (newer field, older field) pairs in merged order. A field that one spec doesn't have is None.

    A field that only the older spec has comes after the shared field that precedes it in the older spec.
    """
    by_name = {field["name"]: field for field in ours}
    after: dict[str | None, list[Spec]] = {}
    last: str | None = None
    for field in theirs:
        partner = partners.get(field["name"])
        if partner is None:
            after.setdefault(last, []).append(field)
        else:
            last = partner
    mates = {partners[field["name"]]: field for field in theirs if field["name"] in partners}
    yield from ((None, field) for field in after.get(None, ()))
    for name, field in by_name.items():
        yield field, mates.get(name)
        yield from ((None, each) for each in after.get(name, ()))


def _within(versions: set[int], message: Spec, field: Spec | None, key: str) -> set[int]:
    """Return those `versions` that are in a range of the field. `key` names the range, such as "nullableVersions".

    A field without `flexibleVersions` has the `flexibleVersions` of the message.
    """
    default = message.get(key, "none") if key == "flexibleVersions" else "none"
    declared = Versions.parse(field.get(key, default)) if field else NONE
    return {version for version in versions if version in declared}


def _version_range(declared: str | None, inside: AbstractSet[int], outside: AbstractSet[int], where: str) -> str | None:
    """Return a range with all versions in `inside` and none in `outside`. Raises SpecError if there is none.

    If `declared` is such a range, it is returned. If `declared` is None and `inside` is empty, returns None. Otherwise,
    the range is open-ended, such as "3+", if all versions in `outside` are lower.
    """
    if declared is not None:
        versions = Versions.parse(declared)
        if all(v in versions for v in inside) and not any(v in versions for v in outside):
            return declared
    if not inside:
        return None if declared is None else str(NONE)
    versions = _without_gap(inside, outside, where)
    is_open = all(version < versions.highest for version in outside)
    return str(Versions(versions.lowest, HIGHEST) if is_open else versions)


def _without_gap(inside: AbstractSet[int], outside: AbstractSet[int], where: str) -> Versions:
    versions = Versions(min(inside), max(inside))
    missing = [version for version in versions if version in outside]
    if missing:
        raise SpecError(
            f"{where}: after merging, the versions would be {versions} without {missing}, but a spec can only contain "
            "a range without gaps"
        )
    return versions
