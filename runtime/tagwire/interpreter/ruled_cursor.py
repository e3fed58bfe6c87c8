"""Check rules that involve several fields while a message is read: unions of tagged fields, and unique keys.

A lenient reader accepts input that breaks these rules, because users may want to inspect it.
"""

from typing import Any

from tagwire.interpreter.framed_cursor import FramedCursor
from tagwire.interpreter.value_rules import Keys, key_text, present_alternatives
from tagwire.layout import Item, TaggedSection, Union
from tagwire.sensitive import HIDDEN, hides
from tagwire.text_format import shown


class TagFields:
    """The known fields of a tag section, its unions (sets of alternatives), and the unknown fields read so far."""

    __slots__ = ("known", "unions", "unknown")

    def __init__(self, fields: tuple[Item, ...], unions: tuple[Union, ...] = ()) -> None:
        self.known = {field.tag: field for field in fields}
        self.unions = {name: union for union in unions for name in union.alternatives}
        self.unknown: dict[int, bytes] = {}


class RuledCursor(FramedCursor):
    """A reader that remembers values, so that it can check rules about several values, such as unique keys."""

    def only_alternative(self, fields: TagFields, name: str, values: dict[str, Any], start: int) -> None:
        """Raise DecodeError if the tagged field `name` and another alternative of its union are both present."""
        union = fields.unions.get(name)
        if union is None or values[name] is None:
            return
        others = [other for other in present_alternatives(union, values.get) if other != name]
        if others:
            self.deviate(f"{name} and {others[0]}", f"one alternative of the union {union.name}", start)

    def filled_unions(self, section: TaggedSection, values: dict[str, Any], start: int) -> None:
        """Raise DecodeError if no alternative of a union is set. An unknown tag counts, as it may be a newer one."""
        for union in section.unions:
            if not present_alternatives(union, values.get) and not values["unknown_tags"]:
                expected = f"one of {', '.join(union.alternatives)}"
                self.deviate(f"no alternative of the union {union.name}", expected, start)

    def own_key(self, keys: Keys, index: int, element: Any, start: int) -> None:
        """Raise DecodeError for the array element at `start` if an earlier element has the same key."""
        twin = keys.twin(index, element)
        if twin is not None:
            self.path.append(index)
            found = f"{key_text(keys.names, element, self.shown_key)}, the same key as element {twin}"
            self.deviate(found, "a unique key", start)
            self.path.pop()

    def shown_key(self, name: str, value: Any) -> str:
        """Return a key field's value for an error message, shortened, or a placeholder if the field is sensitive."""
        return HIDDEN if hides() and self.layout.root.is_sensitive([*self.path, name]) else shown(value)
