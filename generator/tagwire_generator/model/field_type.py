"""Field types, and hints for authors who write a type of another language by mistake."""

import re
from dataclasses import dataclass, field
from typing import Final

from tagwire.text_format import suggestion
from tagwire.wire.extensions import BLOCK_MAX
from tagwire.wire.types import KAFKA_TYPES, RECORD_TYPES, WIRE_TYPES, WireType, wire_type
from tagwire_generator.model.spec_names import STRUCT_NAME_RULE, is_struct_name
from tagwire_generator.problems import InvalidSpec, Violation, enforce, quoted

_NAMES: Final = {
    "boolean": "bool",
    "byte": "int8",
    "i8": "int8",
    "u8": "uint8",
    "ubyte": "uint8",
    "short": "int16",
    "i16": "int16",
    "u16": "uint16",
    "ushort": "uint16",
    "int": "int32",
    "integer": "int32",
    "i32": "int32",
    "u32": "uint32",
    "uint": "uint32",
    "long": "int64",
    "bigint": "int64",
    "i64": "int64",
    "u64": "uint64",
    "ulong": "uint64",
    "double": "float64",
    "f64": "float64",
    "float": "float64",
    "f32": "float32",
    "str": "string",
    "text": "string",
    "varchar": "string",
    "binary": "bytes",
    "blob": "bytes",
    "guid": "uuid",
}
"""Maps the names of other languages' types, in lower case, to the primitives to use instead."""
_OTHERS: Final = {
    "enum": "write 'int8' together with \"enum\": a register names the numbers",
    "map": "a map is an array of structs: write '[]Entry' with a field for the key, marked mapKey",
    "optional": "write the type alone, together with nullableVersions",
    "struct": "write the struct's name, which begins with an upper-case letter, and its fields",
    "date": 'write \'int64\' together with "semantic": "timestamp_ms"',
    "duration": 'write \'int64\' together with "semantic": "duration_ms"',
    "decimal": 'write \'bytes\' together with "semantic": "decimal" with a precision and a scale',
}
"""Hints for types of other languages that have no equivalent in specs, by kind of type, such as "map"."""
_OTHER_NAMES: Final = {
    "dict": "map",
    "hashmap": "map",
    "nullable": "optional",
    "object": "struct",
    "datetime": "date",
    "time": "date",
    "timestamp": "date",
    "interval": "duration",
    "timedelta": "duration",
    "numeric": "decimal",
} | {name: name for name in _OTHERS}
_ARRAYS: Final = ("array", "list", "set", "seq", "sequence", "vec", "vector", "repeated")
_GENERIC: Final = re.compile(r"(\w+)\s*[<(\[](.*)[>)\]]", re.ASCII | re.DOTALL)


def foreign_type_hint(name: str) -> str:
    """Return a hint about what to write instead of another language's type, such as `list<str>`, or "" if unknown."""
    bare = name.strip().lower()
    if bare.endswith("[]") or bare in _ARRAYS:
        return _array(name.strip()[:-2] if bare.endswith("[]") else "")
    if bare.endswith("?") or bare.startswith(("optional ", "nullable ")):
        return _OTHERS["optional"]
    found = _GENERIC.fullmatch(name.strip())
    if found and found[1].lower() in _ARRAYS:
        return _array(found[2])
    key = found[1].lower() if found else bare
    if key in _OTHER_NAMES:
        return _OTHERS[_OTHER_NAMES[key]]
    ours = _NAMES.get(key, key if key != name else "")
    return f"write {ours!r}" if ours in WIRE_TYPES else ""


def _array(element: str) -> str:
    """Return a hint for an array type in another language's notation. For `int32[]`, `element` is `int32`."""
    element = element.strip()
    ours = _NAMES.get(element.lower(), element.lower())
    if ours in WIRE_TYPES and ours != "records":
        return f"write '[]{ours}'"
    if element.isascii() and element.isalnum() and element[:1].isupper():
        return f"write '[]{element}'"
    inner = foreign_type_hint(element) if element else ""
    if inner.startswith("write '"):
        return inner.replace("write '", "write '[]", 1)
    return "an array is written as [] and the type of its elements, as in '[]int32'"


MOST_DIMENSIONS: Final = 4
"""Maximum depth of nested arrays."""


@dataclass(frozen=True, slots=True)
class FieldType:
    """A field type. `name` is a primitive or a struct, and `dimensions` the number of arrays around it.

    Raises InvalidSpec for an invalid name, and for an array of records.
    """

    name: str
    dimensions: int = 0
    primitive: WireType | None = field(init=False, compare=False, repr=False)
    """The primitive type or, for an array, its primitive element type, or None for structs."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "primitive", wire_type(self.name) or RECORD_TYPES.get(self.name))
        enforce(self._violations())

    def _violations(self) -> list[Violation]:
        name = self.name
        if self.dimensions > MOST_DIMENSIONS:
            text = f"{quoted(str(self))} has {self.dimensions} nested arrays"
            remedy = f"at most {MOST_DIMENSIONS} are allowed; put a struct between them"
            return [Violation("TW403", "type", f"{text}; {remedy}")]
        if name == "records" and self.is_array:
            text = "records can't be in an array; use records, which holds any number of batches"
            return [Violation("TW404", "type", text)]
        if self.primitive or is_struct_name(name):
            return []
        if name.startswith("bytes["):
            text = f"{quoted(name)} is not a type; bytes of one size are written as bytes[16]"
            return [Violation("TW402", "type", f"{text}, with a number from 1 to {BLOCK_MAX}")]
        if name[:1].isupper():
            hint = foreign_type_hint(name) or STRUCT_NAME_RULE
            return [Violation("TW301", "type", f"{quoted(name)} can't be the name of a struct; {hint}")]
        every = f"types are {', '.join(WIRE_TYPES)}, and structs, which start with an upper-case letter"
        hint = foreign_type_hint(name) or suggestion(name, [*WIRE_TYPES, *RECORD_TYPES], every)
        return [Violation("TW402", "type", f"unknown type {quoted(name)}; {hint}")]

    @classmethod
    def parse(cls, text: str) -> "FieldType":
        """Parse a type such as `int32`, `[]int32`, `Foo` or `[][]Foo`. Raises InvalidSpec for anything else."""
        bare = element = text.strip()
        dimensions = 0
        while element.startswith("[]"):
            dimensions += 1
            element = element[2:].strip()
        if dimensions and (not element or element.startswith("[")):
            what = f"the array type {quoted(bare)} has no element type"
            raise InvalidSpec(
                [Violation("TW403", "type", f"{what}; write the name of a primitive type or struct after `[]`")]
            )
        return cls(element, dimensions)

    @property
    def is_array(self) -> bool:
        return self.dimensions > 0

    @property
    def is_extension(self) -> bool:
        """Whether the type is a tagwire extension. Kafka's own spec language doesn't have such types."""
        is_primitive = self.primitive is not None and self.name not in RECORD_TYPES
        return self.dimensions > 1 or (is_primitive and self.name not in KAFKA_TYPES)

    @property
    def struct(self) -> str | None:
        """The name of the struct or, for an array of structs, of the elements' struct, or None for primitives."""
        return None if self.primitive else self.name

    @property
    def scalar(self) -> WireType | None:
        """The primitive type, or None for arrays and structs."""
        return None if self.is_array else self.primitive

    @property
    def can_be_null(self) -> bool:
        """Whether Kafka's language allows null for this type: strings, bytes, records, arrays and structs."""
        return self.scalar is None or bool(self.scalar.length)

    @property
    def can_be_marked_null(self) -> bool:
        """Whether null needs a marker byte before the value: true for fixed-width types (tagwire dialect only)."""
        return self.scalar is not None and self.scalar.is_fixed

    def __str__(self) -> str:
        return "[]" * self.dimensions + self.name
