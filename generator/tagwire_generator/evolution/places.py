"""Where in the text of a new spec a finding belongs: the line and column of the key that says so.

Findings are made from specs and layouts, which know no text. Whoever has the
texts lets them be placed here, and only specs with findings are parsed again.
"""

from collections.abc import Iterable
from typing import Final

from tagwire_generator.evolution.findings import Finding, Spot
from tagwire_generator.evolution.texts import SpecTexts
from tagwire_generator.reading.values import items
from tagwire_generator.syntax.parse import Document, Node, Object, Scalar, parse

__all__ = ["placed"]

_IN_DRAFT: Final = {"flexibleVersions": "versionsWithOptional", "nullableVersions": "nullable"}
"""What the draft dialect calls a key."""


def placed(findings: Iterable[Finding], texts: SpecTexts) -> tuple[Finding, ...]:
    """The findings at their places; `texts` has those of the new specs. Others stay where they are."""
    places = _Places(texts)
    return tuple(each if each.severity == "error" else places.placed(each) for each in findings)


class _Places:
    """The places of one set of specs; each text is parsed once."""

    def __init__(self, texts: SpecTexts) -> None:
        self._texts = texts
        self._documents: dict[str, Document] = {}

    def placed(self, finding: Finding) -> Finding:
        """The finding at the key that says so, be it in a shared struct of the message."""
        root = self._root(finding.file)
        if root is None:
            return finding
        file, node = self._node(finding.file, root, finding.spot)
        line = self._texts.texts[file].split("\n")[node.line - 1]
        return finding.at(file, node.line, node.column, line.rstrip("\r"))

    def _root(self, file: str) -> Object | None:
        if file not in self._texts.texts:
            return None
        document = self._documents.get(file)
        if document is None:
            document = self._documents[file] = parse(self._texts.texts[file], file=file)
        return document.root

    def _node(self, file: str, root: Object, spot: Spot) -> tuple[str, Node]:
        """The file and the value of the spot's key.

        The name of the field where it lacks the key, of what held it where it is gone.
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
        """The object that lists an owner's fields, with its file and root: itself, or the struct of its type."""
        declares = owner is root or any(owner.get(key) is not None for key in ("fields", "optionalFields"))
        kind = owner.get("type")
        if declares or not isinstance(kind, Scalar):
            return file, root, owner
        name = kind.raw.strip().removeprefix("[]").strip()
        shared = self._texts.shared.get(name) if _named(root, "imports", name) else None
        imported = self._root(shared.file) if shared else None
        if shared is not None and imported is not None:
            return shared.file, imported, imported
        return file, root, _named(root, "commonStructs", name) or owner


def _named(root: Object, key: str, name: str) -> Object | None:
    """The item of a list that has a name."""
    found = (each for each in items(root.get(key)) if isinstance(each, Object) and _text(each, "name") == name)
    return next(found, None)


def _field(struct: Object, name: str) -> Object | None:
    for key in ("fields", "optionalFields"):
        for each in items(struct.get(key)):
            if isinstance(each, Object):
                spec_name = _text(each, "name")
                if spec_name[:1].lower() + spec_name[1:] == name:
                    return each
    return None


def _text(node: Object, key: str) -> str:
    value = node.get(key)
    return value.raw if isinstance(value, Scalar) else ""
