"""The names that a spec declares, and where it uses them: structs and fields, found in a tree that may be broken.

Definitions, references, renaming and the outline go by this. Which values are
names says the schema: the kinds `structName` and `fieldType` name structs,
`word` names a field of a record format.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tagwire.wire.types import RECORD_TYPES, WIRE_TYPES
from tagwire_workbench.language.schema_places import place_of
from tagwire_workbench.language.text_places import Span
from tagwire_workbench.language.text_tree import TextTree, Value

MEMBERS: Final = ("fields", "optionalFields")
"""The keys that hold the fields of a struct."""

_FIELD_WORDS: Final = (("when", "field"), ("claim", "field"))
"""Places and keys that name a field, though their values are of no kind of their own."""


class Name(NamedTuple):
    """A name where it stands: the value that has it, and its characters there."""

    text: str
    value: Value
    span: Span


class SpecNames:
    """The names of one spec."""

    def __init__(self, tree: TextTree) -> None:
        self.tree = tree
        self.structs: dict[str, Name] = {}
        """Where each struct is declared, the first of a name."""
        self.imports: dict[str, Name] = {}
        """Where each shared struct is imported, which is declared in a spec of its own."""
        self.struct_uses: list[Name] = []
        """Types that name a struct, those that declare one among them."""
        self.fields: list[Name] = []
        """Every field, in the order of the text."""
        self.register_uses: list[Name] = []
        """Values that name a register."""
        self.field_uses: list[Name] = []
        """Other values that name a field."""
        root = tree.root
        name = root.get("name")
        self.is_register = root.word("type") == "register"
        self.own_name: Name | None = None
        """The name of the spec itself, if other specs of its set may use it: of a shared struct or a register."""
        if name is not None and name.kind == "string" and root.word("type") in ("struct", "register"):
            self.own_name = Name(name.text, name, name.content)
        for value in tree.values():
            if value.kind == "string" and value.entry is not None and value.parent is not None:
                self._add(value, value.parent, value.entry.key)

    def _add(self, value: Value, owner: Value, key: str) -> None:
        around = place_of(owner)
        found = around.key(key) if around is not None else None
        if around is None or found is None:
            return
        kind = found.place.kind
        if kind == "structName" and owner is not self.tree.root:
            if around.kind == "import":
                self.imports.setdefault(value.text, Name(value.text, value, value.content))
            self.structs.setdefault(value.text, Name(value.text, value, value.content))
        elif kind == "fieldType":
            self._add_type(value, owner)
        elif kind == "registerName":
            self.register_uses.append(Name(value.text, value, value.content))
        elif kind == "word" or (around.kind or key, key) in _FIELD_WORDS or _is_condition(owner, key):
            text = value.text.partition(".")[0]
            self.field_uses.append(Name(text, value, Span(value.content.start, value.content.start + len(text))))
        elif key == "name" and is_field(owner):
            self.fields.append(Name(value.text, value, value.content))

    def _add_type(self, value: Value, owner: Value) -> None:
        name = type_name(value)
        if not name.text or name.text in WIRE_TYPES or name.text in RECORD_TYPES:
            return
        self.struct_uses.append(name)
        if any(owner.get(key) is not None for key in MEMBERS):
            self.structs.setdefault(name.text, name)

    def struct_at(self, offset: int) -> Name | None:
        """The name of a struct that a cursor touches, declared or used."""
        return _touched([*self.struct_uses, *self.structs.values()], offset)

    def field_at(self, offset: int) -> Name | None:
        """The name of a field that a cursor touches, declared or used."""
        return _touched([*self.fields, *self.field_uses], offset)

    def register_at(self, offset: int) -> Name | None:
        """The name of a register that a cursor touches."""
        return _touched(self.register_uses, offset)

    def struct_places(self, text: str) -> list[Name]:
        """Everywhere a struct is named: its declaration first."""
        declared = self.structs.get(text)
        uses = [use for use in self.struct_uses if use.text == text and (declared is None or use.span != declared.span)]
        return [*([declared] if declared else []), *uses]

    def field_places(self, name: Name) -> list[Name]:
        """Everywhere the same field is named: its declaration first."""
        declared = self.declared(name)
        if declared is None:
            return [name]
        return [declared, *(use for use in self.field_uses if self.declared(use) == declared)]

    def declared(self, name: Name) -> Name | None:
        """The field that a name means: one of its struct, else of those around it, else of the elements below it."""
        if name in self.fields:
            return name
        owner: Value | None = name.value.parent
        for each in self._siblings(owner):
            if each.text == name.text:
                return each
        inside = [each for each in self.fields if owner is not None and owner.start <= each.span.start <= owner.end]
        return next((each for each in [*inside, *self.fields] if each.text == name.text), None)

    def near(self, owner: Value) -> list[str]:
        """The names of the fields that a value of an object could mean: of its struct, then of those around it."""
        return list(dict.fromkeys(each.text for each in self._siblings(owner)))

    def _siblings(self, owner: Value | None) -> Iterator[Name]:
        """The fields of the struct that an object stands in, then of those around it; of the message, its own."""
        while owner is not None:
            for key in MEMBERS:
                members = owner.get(key)
                if members is not None:
                    yield from (each for each in self.fields if _around(each.value) is members)
            owner = owner.parent


def type_name(value: Value) -> Name:
    """The name in a field's type, without what makes it an array."""
    start = value.content.start
    bare = value.text.lstrip("[] \t")
    begin = start + len(value.text) - len(bare)
    text = bare.rstrip()
    return Name(text, value, Span(begin, begin + len(text)))


def is_field(owner: Value) -> bool:
    """Whether an object is a field: it stands among those of a struct or a message."""
    members = owner.parent if owner.parent is not None and owner.parent.kind == "list" else owner
    return members.entry is not None and members.entry.key in MEMBERS


def _around(value: Value) -> Value | None:
    """The list that the field with this name stands in; the field itself where it stands alone."""
    field = value.parent
    if field is None or field.parent is None:
        return None
    return field.parent if field.parent.kind == "list" else field


def _is_condition(owner: Value, key: str) -> bool:
    return owner.entry is not None and (owner.entry.key, key) in _FIELD_WORDS


def _touched(names: list[Name], offset: int) -> Name | None:
    return next((name for name in names if name.value.span.has(offset)), None)
