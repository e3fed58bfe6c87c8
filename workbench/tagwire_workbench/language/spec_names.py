"""Find the names that a spec declares and uses, and outline its declarations, even if the source is invalid.

The type of a value in the schema determines what the value names: `structName` and `fieldType` are types of struct
names, `registerName` of register names, and `word` of the names of a record format's fields.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from tagwire.wire.types import RECORD_TYPES, WIRE_TYPES
from tagwire_workbench.language.schema_nodes import schema_node_of
from tagwire_workbench.language.text_positions import Span
from tagwire_workbench.language.text_tree import TextTree, Value

MEMBERS: Final = ("fields", "optionalFields")
"""The keys whose values are the fields of a struct."""

_FIELD_WORDS: Final = (("when", "field"), ("claim", "field"))
"""(parent key, key) of values that are field names, although the schema doesn't mark them as names."""


class Name(NamedTuple):
    """An occurrence of a name: the value that contains the name, and the span of its characters."""

    text: str
    value: Value
    span: Span


class SpecNames:
    """The names of structs and fields in one spec, with all their occurrences."""

    def __init__(self, tree: TextTree) -> None:
        self.tree = tree
        self.structs: dict[str, Name] = {}
        """The first declaration of each struct."""
        self.imports: dict[str, Name] = {}
        """The shared structs that the spec imports. Other specs declare them."""
        self.struct_uses: list[Name] = []
        """Types that name a struct, including types that declare the struct."""
        self.fields: list[Name] = []
        """The name of every field, in source order."""
        self.register_uses: list[Name] = []
        """Values that name a register."""
        self.field_uses: list[Name] = []
        """Values that refer to a field by its name, such as the value of `field` in a condition."""
        root = tree.root
        name = root.get("name")
        self.is_register = root.string("type") == "register"
        self.own_name: Name | None = None
        """The name of a shared struct or register, which other specs of its set may use, or None for other specs."""
        if name is not None and name.kind == "string" and root.string("type") in ("struct", "register"):
            self.own_name = Name(name.text, name, name.content)
        for value in tree.values():
            if value.kind == "string" and value.entry is not None and value.parent is not None:
                self._add(value, value.parent, value.entry.key)

    def _add(self, value: Value, owner: Value, key: str) -> None:
        around = schema_node_of(owner)
        found = around.key(key) if around is not None else None
        if around is None or found is None:
            return
        kind, owner_key = found.node.kind, owner.entry.key if owner.entry is not None else ""
        if kind == "structName" and owner is not self.tree.root:
            if around.kind == "import":
                self.imports.setdefault(value.text, Name(value.text, value, value.content))
            self.structs.setdefault(value.text, Name(value.text, value, value.content))
        elif kind == "fieldType":
            self._add_type(value, owner)
        elif kind == "registerName":
            self.register_uses.append(Name(value.text, value, value.content))
        elif kind == "word" or any((each, key) in _FIELD_WORDS for each in (around.kind or key, owner_key)):
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
        """Return the struct name at the cursor, in a declaration or a reference."""
        return _touched([*self.struct_uses, *self.structs.values()], offset)

    def field_at(self, offset: int) -> Name | None:
        """Return the field name at the cursor, in a declaration or a reference."""
        return _touched([*self.fields, *self.field_uses], offset)

    def register_at(self, offset: int) -> Name | None:
        """Return the name of the register (a field's `enum`) at the cursor."""
        return _touched(self.register_uses, offset)

    def struct_positions(self, text: str) -> list[Name]:
        """Return all occurrences of a struct name, starting with the declaration."""
        declared = self.structs.get(text)
        uses = [use for use in self.struct_uses if use.text == text and (declared is None or use.span != declared.span)]
        return [*([declared] if declared else []), *uses]

    def field_positions(self, name: Name) -> list[Name]:
        """Return all occurrences of the field that a name refers to, starting with the declaration."""
        declared = self.declared(name)
        if declared is None:
            return [name]
        return [declared, *(use for use in self.field_uses if self.declared(use) == declared)]

    def positions(self, offset: int) -> list[Name]:
        """Return all occurrences of the struct or field at the cursor, starting with the declaration."""
        struct, field = self.struct_at(offset), self.field_at(offset)
        if struct is not None:
            return self.struct_positions(struct.text)
        return self.field_positions(field) if field is not None else []

    def declared(self, name: Name) -> Name | None:
        """Return the declaration of the field to which a name refers.

        Fields of the same struct are searched first, then fields of enclosing structs, then all other fields.
        """
        if name in self.fields:
            return name
        owner: Value | None = name.value.parent
        for each in self._siblings(owner):
            if each.text == name.text:
                return each
        inside = [each for each in self.fields if owner is not None and owner.start <= each.span.start <= owner.end]
        return next((each for each in [*inside, *self.fields] if each.text == name.text), None)

    def near(self, owner: Value) -> list[str]:
        """Return the names of the fields to which a value in `owner` may refer, those of the innermost struct first."""
        return list(dict.fromkeys(each.text for each in self._siblings(owner)))

    def _siblings(self, owner: Value | None) -> Iterator[Name]:
        """Yield the fields declared in the object `owner`, and then in each enclosing object."""
        while owner is not None:
            for key in MEMBERS:
                members = owner.get(key)
                if members is not None:
                    yield from (each for each in self.fields if _around(each.value) is members)
            owner = owner.parent


def type_name(value: Value) -> Name:
    """Return the type name in a field's type, without array brackets."""
    start = value.content.start
    bare = value.text.lstrip("[] \t")
    begin = start + len(value.text) - len(bare)
    text = bare.rstrip()
    return Name(text, value, Span(begin, begin + len(text)))


def is_field(owner: Value) -> bool:
    """Return whether an object is a field of a struct or message."""
    members = owner.parent if owner.parent is not None and owner.parent.kind == "list" else owner
    return members.entry is not None and members.entry.key in MEMBERS


def _around(value: Value) -> Value | None:
    """Return the list that contains the field named `value`, or the field itself if it isn't in a list."""
    field = value.parent
    if field is None or field.parent is None:
        return None
    return field.parent if field.parent.kind == "list" else field


def _touched(names: list[Name], offset: int) -> Name | None:
    return next((name for name in names if name.value.span.has(offset)), None)


def references(text: str, offset: int) -> list[Span]:
    """Return the spans of all occurrences of the struct or field at the cursor, starting with the declaration."""
    return [name.span for name in SpecNames(TextTree(text)).positions(offset)]


SymbolKind = Literal["message", "struct", "field", "entry"]

_LISTS: Final[Mapping[str, SymbolKind]] = {
    **dict.fromkeys(MEMBERS, "field"),
    "commonStructs": "struct",
    "entries": "entry",
}
"""The keys whose list items appear in the outline."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """An entry in the outline that an editor shows: the message, a struct or a field."""

    name: str
    detail: str
    kind: SymbolKind
    span: Span
    """The span of the whole definition, not only of its name."""
    name_span: Span
    children: "tuple[Symbol, ...]"


def outline(text: str) -> list[Symbol]:
    """Return the outline of a spec, or empty if the spec has no name. Invalid source does not raise an error."""
    return _symbols([TextTree(text).root], "message")


def _symbols(owners: list[Value], kind: SymbolKind) -> list[Symbol]:
    return [_symbol(owner, kind) for owner in owners if owner.kind == "object" and owner.string("name")]


def _symbol(owner: Value, kind: SymbolKind) -> Symbol:
    name = owner.get("name")
    assert name is not None
    children = [each for key, of in _LISTS.items() for each in _symbols(_objects(owner.get(key)), of)]
    key = owner.get("key")
    versions = owner.string("versions") or owner.string("taggedVersions") or owner.string("validVersions")
    detail = " ".join(filter(None, [owner.string("type"), versions, key.text if key is not None else ""]))
    return Symbol(name.text, detail, kind, owner.span, name.span, tuple(children))


def _objects(value: Value | None) -> list[Value]:
    """Return the items of a list. A value that isn't a list counts as its only item, and None as no items."""
    if value is None:
        return []
    return value.items if value.kind == "list" else [value]
