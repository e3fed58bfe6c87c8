"""A field's type: a primitive of `tagwire.wire.types`, a struct, or an array of either.

Record formats have a few primitives of their own; that others have none of them is a rule about messages.
"""

from dataclasses import dataclass

from tagwire.text_format import suggestion
from tagwire.wire.types import RECORD_TYPES, WIRE_TYPES, WireType
from tagwire_generator.diagnostics.problems import quoted
from tagwire_generator.model.foreign_types import foreign_type_hint
from tagwire_generator.model.spec_names import STRUCT_NAME_RULE, is_struct_name
from tagwire_generator.model.violations import InvalidSpec, Violation, enforce

__all__ = ["FieldType"]


@dataclass(frozen=True, slots=True)
class FieldType:
    """`name` is that of a primitive or of a struct; `is_array` says whether it is the element's.

    Raises InvalidSpec for a name that is neither, and for an array of records.
    """

    name: str
    is_array: bool = False

    def __post_init__(self) -> None:
        enforce(self._violations())

    def _violations(self) -> list[Violation]:
        name = self.name
        if name == "records" and self.is_array:
            text = "records can't be in an array; use records, which holds any number of batches"
            return [Violation("TW404", "type", text)]
        if name in WIRE_TYPES or name in RECORD_TYPES or is_struct_name(name):
            return []
        if name[:1].isupper():
            hint = foreign_type_hint(name) or STRUCT_NAME_RULE
            return [Violation("TW301", "type", f"{quoted(name)} can't be the name of a struct; {hint}")]
        every = f"types are {', '.join(WIRE_TYPES)}, and structs, which start with an upper-case letter"
        hint = foreign_type_hint(name) or suggestion(name, [*WIRE_TYPES, *RECORD_TYPES], every)
        return [Violation("TW402", "type", f"unknown type {quoted(name)}; {hint}")]

    @classmethod
    def parse(cls, text: str) -> "FieldType":
        """Read `int32`, `[]int32`, `Foo` or `[]Foo`; blanks around either part are dropped.

        Raises InvalidSpec for anything else.
        """
        bare = text.strip()
        if not bare.startswith("[]"):
            return cls(bare)
        element = bare[2:].strip()
        if not element or element.startswith("["):
            what = f"the array type {quoted(bare)} has {'arrays as elements' if element else 'no element type'}"
            raise InvalidSpec([Violation("TW403", "type", f"{what}; write [] and one primitive or struct")])
        return cls(element, is_array=True)

    @property
    def primitive(self) -> WireType | None:
        """The primitive, also of an array of them; None for a struct and an array of structs."""
        return WIRE_TYPES.get(self.name) or RECORD_TYPES.get(self.name)

    @property
    def struct(self) -> str | None:
        """The struct's name, also of an array of them; None for a primitive."""
        return None if self.primitive else self.name

    @property
    def scalar(self) -> WireType | None:
        """The primitive, unless this is an array."""
        return None if self.is_array else self.primitive

    @property
    def can_be_null(self) -> bool:
        """Whether the type has a null on the wire: texts, bytes, records, arrays and structs have one."""
        return self.scalar is None or bool(self.scalar.length)

    def __str__(self) -> str:
        return f"[]{self.name}" if self.is_array else self.name
