"""Find the position of a finding in a spec: the line and column of the key that causes the finding.

Specs with findings are parsed again, because models and layouts don't contain positions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from tagwire_generator.model.spec_names import attribute_name
from tagwire_generator.problems import Finding, Spot
from tagwire_generator.reading.keys import items
from tagwire_generator.syntax.parse import JsonNode, Object, ParsedSpec, parse

_IN_DRAFT: Final = {"flexibleVersions": "versionsWithOptional", "nullableVersions": "nullable"}
"""Maps the names of keys in the released dialect to their names in the draft dialect."""


def placed(
    findings: Iterable[Finding], texts: Mapping[str, str], shared: Mapping[str, str] | None = None
) -> tuple[Finding, ...]:
    """Return the findings with lines and columns in the spec files. A finding without a `Spot` is returned unchanged.

    `texts` maps spec files to their contents. `shared` maps shared structs to their files.
    """
    positions = _Positions(texts, shared or {})
    return tuple(map(positions.placed, findings))


class _Positions:
    """Finds positions in a set of specs. Each text is parsed only once."""

    def __init__(self, texts: Mapping[str, str], shared: Mapping[str, str]) -> None:
        self._texts = texts
        self._shared = shared
        self._documents: dict[str, ParsedSpec] = {}

    def placed(self, finding: Finding) -> Finding:
        """Return the finding with the position of the key that causes it. The key may be in a shared struct's spec."""
        root = self._root(finding.file)
        if root is None:
            return finding
        file, node = self.node(finding.file, root, finding.spot)
        line = self._texts[file].split("\n")[node.line - 1]
        return replace(finding, file=file, line=node.line, column=node.column, source_line=line.rstrip("\r"))

    def _root(self, file: str) -> Object | None:
        if file not in self._texts:
            return None
        document = self._documents.get(file)
        if document is None:
            document = self._documents[file] = parse(self._texts[file], file=file)
        return document.root

    def node(self, file: str, root: Object, spot: Spot) -> tuple[str, JsonNode]:
        """Find the key `spot.key` of the field at the path `spot.names`. Return its file, and its value as a node.

        If the field does not have this key, return the field's name as the value. If there is no such field, return the
        name of the enclosing field or message.
        """
        owner, owner_file, key = root, file, spot.key
        for name in spot.names:
            file, root, members = self._members_of(file, root, owner)
            found = _field(members, name)
            if found is None:
                key = "name"
                break
            owner, owner_file = found, file
        for each in (key, _IN_DRAFT.get(key, "name"), "name"):
            member = owner.members.get(each)
            if member is not None:
                return owner_file, member.value
        return owner_file, owner

    def _members_of(self, file: str, root: Object, owner: Object) -> tuple[str, Object, Object]:
        """Return (file, root, object) for the object that declares the fields of `owner`, a message or field."""
        declares = owner is root or any(owner.get(key) is not None for key in ("fields", "optionalFields"))
        name = owner.text_of("type").strip().lstrip("[] ")
        if declares or not name:
            return file, root, owner
        other = self._shared.get(name, "") if _named(root, "imports", name) else ""
        imported = self._root(other)
        if imported is not None:
            return other, imported, imported
        return file, root, _named(root, "commonStructs", name) or owner


def _named(root: Object, key: str, name: str) -> Object | None:
    found = (each for each in items(root.get(key)) if isinstance(each, Object) and each.text_of("name") == name)
    return next(found, None)


def _field(struct: Object, name: str) -> Object | None:
    for key in ("fields", "optionalFields"):
        for each in items(struct.get(key)):
            if isinstance(each, Object):
                spec_name = each.text_of("name")
                if name in (spec_name[:1].lower() + spec_name[1:], attribute_name(spec_name)):
                    return each
    return None
