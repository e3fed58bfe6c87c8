"""A struct: named fields in wire order, and the tags that it must not use again."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tagwire.versions import Versions
from tagwire_generator.field_spec import MAX_TAG, FieldSpec
from tagwire_generator.invariants import Violation, enforce
from tagwire_generator.problems import quoted

__all__ = ["StructSpec"]

_NAME: Final = re.compile("[A-Za-z][A-Za-z0-9]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class StructSpec:
    """One struct. Raises InvalidSpec if its fields contradict each other.

    In the draft dialect the optional fields follow the others.
    """

    name: str
    versions: Versions
    """Where it exists: of an inline struct, the versions of its field; of a message, the valid ones."""
    fields: tuple[FieldSpec, ...] = ()
    """In the order of the spec, which is that of the wire."""
    reserved_tags: tuple[int, ...] = ()
    """Retired tags: taken, but in no version on the wire."""
    warnings: tuple[Violation, ...] = field(init=False, compare=False, repr=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "warnings", enforce(self._violations()))

    def _violations(self) -> Iterator[Violation]:
        if not _NAME.fullmatch(self.name):
            message = f"{quoted(self.name)} can't be a struct's name; use an upper-case ASCII letter, then ASCII letters and digits"
            yield Violation("TW301", "name", message)
        yield from self._name_violations()
        yield from self._reserved_violations()
        yield from self._tag_violations()

    def _name_violations(self) -> Iterator[Violation]:
        first: dict[str, FieldSpec] = {}
        for position, spec in enumerate(self.fields):
            other = first.setdefault(spec.name.lower(), spec)
            if other is spec:
                continue
            if other.name == spec.name:
                message = f"{self.name} has a field {spec.name} already, in versions {other.versions}; rename one of them"
                yield Violation("TW302", "name", message, field=position)
            else:
                message = f"{self.name} has fields {other.name} and {spec.name}, which become one name in Python and in JSON; rename one of them"
                yield Violation("TW303", "name", message, field=position)

    def _reserved_violations(self) -> Iterator[Violation]:
        for position, tag in enumerate(self.reserved_tags):
            if not 0 <= tag <= MAX_TAG:
                yield Violation("TW601", "reservedTags", f"{self.name} reserves tag {tag}; tags are 0 to {MAX_TAG}")
            if tag in self.reserved_tags[:position]:
                yield Violation("TW613", "reservedTags", f"{self.name} reserves tag {tag} twice; name it once")

    def _tag_violations(self) -> Iterator[Violation]:
        first: dict[int, FieldSpec] = {}
        for position, spec in enumerate(self.fields):
            if spec.tag is None:
                continue
            other = first.setdefault(spec.tag, spec)
            if other is not spec:
                message = f"tag {spec.tag} of field {spec.name} is that of field {other.name} already; take another one"
                yield Violation("TW608", "tag", message, field=position)
            if spec.tag in self.reserved_tags:
                message = f"tag {spec.tag} of field {spec.name} is retired by reservedTags; take another one"
                yield Violation("TW610", "tag", message, field=position)
