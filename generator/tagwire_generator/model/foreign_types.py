"""What other languages call our types: `list<string>`, `double`, `enum`, and what to write instead.

People write the types of their own language first, and the nearest name of ours
is often the wrong one: `long` is closer to `varlong` than to `int64`.
"""

import re
from typing import Final

from tagwire.wire.types import WIRE_TYPES

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
"""By a name in lower case, the primitive that holds its values."""
_OTHERS: Final = {
    "enum": "write 'int8' and beside it \"enum\": a register names the numbers",
    "map": "a map is an array of structs: write '[]Entry' with a field for the key, marked mapKey",
    "optional": "write the type alone, and nullableVersions beside it",
    "struct": "write the struct's name, which begins with an upper-case letter, and its fields",
    "date": 'write \'int64\' and beside it "semantic": "timestamp_ms"',
    "duration": 'write \'int64\' and beside it "semantic": "duration_ms"',
    "decimal": 'write \'bytes\' and beside it "semantic": "decimal" with a precision and a scale',
}
"""What is more than another name, by its key in `_OTHER_NAMES`."""
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
    """What to write for a type of another language; "" for an unknown name."""
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
    """How an array is written, with the element where that has a name of ours."""
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
