"""What a reader by layout holds against rules over several fields: unions of tagged fields, and keys of elements.

Between `FramedCursor` and `LayoutReader`. A lenient reader takes what breaks these rules: no such bytes are ambiguous,
and a person can look at them.
"""

from typing import Any

from tagwire.interpreter.framed_cursor import FramedCursor
from tagwire.interpreter.value_rules import Keys, key_text, present_alternatives
from tagwire.layout import Item, TaggedSection, Union
from tagwire.sensitive import HIDDEN, hides
from tagwire.text_format import shown


class TagFields:
    """What a tag section may hold, and what it holds beyond that."""

    __slots__ = ("known", "unions", "unknown")

    def __init__(self, fields: tuple[Item, ...], unions: tuple[Union, ...] = ()) -> None:
        self.known = {field.tag: field for field in fields}
        self.unions = {name: union for union in unions for name in union.alternatives}
        self.unknown: dict[int, bytes] = {}


class RuledCursor(FramedCursor):
    """A place in bytes, and the values before it that exclude what may stand there."""

    def only_alternative(self, fields: TagFields, name: str, values: dict[str, Any], start: int) -> None:
        """Refuse the tagged field `name`, which begins at `start`, beside another alternative of its union."""
        union = fields.unions.get(name)
        if union is None or values[name] is None:
            return
        others = [other for other in present_alternatives(union, values.get) if other != name]
        if others:
            self.deviate(f"{name} beside {others[0]}", f"one alternative of the union {union.name}", start)

    def filled_unions(self, section: TaggedSection, values: dict[str, Any], start: int) -> None:
        """Refuse a section from `start` on without an alternative, unless an unknown tag may be a newer one."""
        for union in section.unions:
            if not present_alternatives(union, values.get) and not values["unknown_tags"]:
                expected = f"one of {', '.join(union.alternatives)}"
                self.deviate(f"no alternative of the union {union.name}", expected, start)

    def own_key(self, keys: Keys, index: int, element: Any, start: int) -> None:
        """Refuse an element, which begins at `start`, with the key of one before it."""
        twin = keys.twin(index, element)
        if twin is not None:
            self.path.append(index)
            found = f"{key_text(keys.names, element, self.shown_key)}, the key of element {twin}"
            self.deviate(found, "a key of its own", start)
            self.path.pop()

    def shown_key(self, name: str, value: Any) -> str:
        """The value of a field of a key in a few words, unless it is sensitive."""
        return HIDDEN if hides() and self.layout.root.is_sensitive([*self.path, name]) else shown(value)
