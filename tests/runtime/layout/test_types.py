from typing import Any

import pytest

from tagwire.layout import COMPACT, INT16, INT32, VARINT, Array, Fixed, Nested, Sized, StructLayout, Varint
from tagwire.wire.types import WIRE_TYPES

INT = Fixed(WIRE_TYPES["int32"])
TEXT = Sized(WIRE_TYPES["string"], COMPACT, nullable=True)
EMPTY = StructLayout("Empty", ())


@pytest.mark.parametrize(
    ("type", "text", "minimum"),
    [
        (INT, "int32", 4),
        (Fixed(WIRE_TYPES["uuid"]), "uuid", 16),
        (TEXT, "nullable compact string", 1),
        (Sized(WIRE_TYPES["string"], INT16, nullable=False), "string", 2),
        (Sized(WIRE_TYPES["records"], INT32, nullable=True), "nullable records", 4),
        (Sized(WIRE_TYPES["bytes"], VARINT, nullable=False), "varint bytes", 1),
        (Array(INT, COMPACT, nullable=True), "nullable compact []int32", 1),
        (Array(INT, None, nullable=False), "[]int32", 0),
        (Varint(32, zigzag=True), "varint", 1),
        (Varint(64, zigzag=True), "varlong", 1),
        (Varint(32, zigzag=False), "uvarint", 1),
        (Varint(64, zigzag=False), "uvarlong", 1),
        (Nested(EMPTY), "Empty", 0),
        (Nested(EMPTY, "int8"), "nullable Empty", 1),
    ],
)
def test_types_name_themselves(type: Any, text: str, minimum: int) -> None:
    assert (str(type), type.minimum) == (text, minimum)


def test_which_structs_may_be_null() -> None:
    assert [Nested(EMPTY, marker).nullable for marker in ("", "int8", "uvarint")] == [False, True, True]
