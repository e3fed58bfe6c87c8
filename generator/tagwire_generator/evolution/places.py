"""Where in the text of a new spec a finding belongs: the line and column of the key that says so.

Findings are made from specs and layouts, which know no text. Whoever has the
texts lets them be placed here, and only specs with findings are parsed again.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from tagwire_generator.evolution.findings import Finding, Spot
from tagwire_generator.reading.values import items
from tagwire_generator.syntax.parse import Document, Node, Object, Scalar, parse

__all__ = ["placed"]

_IN_DRAFT: Final = {"flexibleVersions": "versionsWithOptional", "nullableVersions": "nullable"}
"""What the draft dialect calls a key."""


def placed(findings: Iterable[Finding], texts: Mapping[str, str]) -> tuple[Finding, ...]:
    """The findings at their places; `texts` are those of the new specs, by file. Others stay where they are."""
    documents: dict[str, Document] = {}
    made: list[Finding] = []
    for finding in findings:
        text = texts.get(finding.file)
        if text is None or finding.severity == "error":
            made.append(finding)
            continue
        document = documents.get(finding.file)
        if document is None:
            document = documents[finding.file] = parse(text, file=finding.file)
        root = document.root
        made.append(finding if root is None else _placed(finding, root, text.split("\n")))
    return tuple(made)


def _placed(finding: Finding, root: Object, lines: list[str]) -> Finding:
    node = _node(root, finding.spot)
    return finding.at(node.line, node.column, lines[node.line - 1].rstrip("\r"))


def _node(root: Object, spot: Spot) -> Node:
    """The value of the spot's key; the name of the field where it lacks the key, of what held it where it is gone."""
    owner, key = root, spot.key
    for name in spot.names:
        found = _field(_members_of(root, owner), name)
        if found is None:
            key = "name"
            break
        owner = found
    for each in (key, _IN_DRAFT.get(key, "name"), "name"):
        member = owner.members.get(each)
        if member is not None:
            return member.value
    return owner


def _members_of(root: Object, owner: Object) -> Object:
    """The object that lists an owner's fields: itself, or the common struct that its type names."""
    declares = owner is root or any(owner.get(key) is not None for key in ("fields", "optionalFields"))
    kind = owner.get("type")
    if declares or not isinstance(kind, Scalar):
        return owner
    name = kind.raw.strip().removeprefix("[]").strip()
    common = (each for each in items(root.get("commonStructs")) if isinstance(each, Object))
    return next((each for each in common if _text(each, "name") == name), owner)


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
