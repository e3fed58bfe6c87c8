"""Where in the text of a spec a finding belongs: the line and column of the key that says so.

Findings about changes and about designs are made from specs and layouts, which
know no text. Whoever has the text looks their spots up here, and only specs
with findings are parsed again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from tagwire_generator.model.python_names import attribute_name
from tagwire_generator.reading.values import items
from tagwire_generator.syntax.parse import Document, Node, Object, Scalar, parse

__all__ = ["WHOLE", "Spot", "node_at", "placed"]

_IN_DRAFT: Final = {"flexibleVersions": "versionsWithOptional", "nullableVersions": "nullable"}
"""What the draft dialect calls a key."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in terms of the spec: names of fields, of JSON or of Python, from the message down; a key of the last."""

    names: tuple[str, ...] = ()
    key: str = "name"


WHOLE: Final = Spot()
"""The message itself."""


class _Found(Protocol):
    """A finding, which knows its spot but not its place."""

    @property
    def file(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def spot(self) -> Spot: ...
    def at(self, line: int, column: int, source_line: str) -> Any: ...


F = TypeVar("F", bound=_Found)


def placed(findings: Iterable[F], texts: Mapping[str, str]) -> tuple[F, ...]:
    """The findings at their places; `texts` are those of the specs, by file. Others stay where they are."""
    documents: dict[str, Document] = {}
    made: list[F] = []
    for finding in findings:
        text = texts.get(finding.file)
        if text is None:
            made.append(finding)
            continue
        document = documents.get(finding.file)
        if document is None:
            document = documents[finding.file] = parse(text, file=finding.file)
        root = document.root
        made.append(finding if root is None else _placed(finding, root, text.split("\n")))
    return tuple(made)


def _placed(finding: F, root: Object, lines: list[str]) -> F:
    node = node_at(root, finding.spot)
    found: F = finding.at(node.line, node.column, lines[node.line - 1].rstrip("\r"))
    return found


def node_at(root: Object, spot: Spot) -> Node:
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
                if name in (spec_name[:1].lower() + spec_name[1:], attribute_name(spec_name)):
                    return each
    return None


def _text(node: Object, key: str) -> str:
    value = node.get(key)
    return value.raw if isinstance(value, Scalar) else ""
