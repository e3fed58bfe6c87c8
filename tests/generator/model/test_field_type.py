import json

import pytest

from tagwire.wire.types import WIRE_TYPES
from tagwire_generator.model.field_type import FieldType, foreign_type_hint
from tagwire_generator.problems import InvalidSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import read_spec

HINTS = {
    "write '[]string'": ["list<string>", "string[]", "List<String>"],
    "write '[]int64'": ["array<long>"],
    "write '[]Topic'": ["vec<Topic>"],
    "write '[]float64'": ["double[]"],
    "write '[][]int32'": ["list<list<int>>"],
    "an array is written as [] and the type of its elements": ["list", "list<map<int,int>>"],
    "write '[]int64' together with \"semantic\"": ["list<datetime>"],
    "write 'bytes' together with \"semantic\"": ["decimal(10,2)"],
    "write 'int64' together with \"semantic\"": ["duration"],
    "nullableVersions": ["optional string", "optional<string>", "string?"],
    "a map is an array of structs: write '[]Entry'": ["map<string,string>"],
    "a map is an array of structs": ["map"],
    "a register names the numbers": ["enum"],
    "write 'float64'": ["double"],
    "write 'int64'": ["long", "timestamp", "[]long"],
    "write 'int32'": ["int"],
    "write 'bool'": ["boolean"],
    "upper-case letter": ["object"],
}


@pytest.mark.parametrize(("hint", "written"), [(hint, each) for hint, types in HINTS.items() for each in types])
def test_type_names_of_other_languages(written: str, hint: str) -> None:
    with pytest.raises(InvalidSpec) as rejected:
        FieldType.parse(written)
    [violation] = rejected.value.violations
    assert hint in violation.message


@pytest.mark.parametrize(("written", "hint"), [("String", "write 'string'"), ("Long", "write 'int64'")])
def test_a_struct_that_is_a_type_elsewhere(written: str, hint: str) -> None:
    spec: dict[str, object] = {"type": "data", "name": "Foo", "validVersions": "0", "flexibleVersions": "none"}
    spec |= {"fields": [{"name": "A", "type": written, "versions": "0"}]}
    [problem] = read_spec(json.dumps(spec), file="Foo.json", component="", options=SpecOptions()).problems
    assert problem.rule == "TW306" and problem.message.endswith(f"; or {hint}")


@pytest.mark.parametrize("name", ["int33", "frobnicate", "Foo", "", "<>", "x<y>"])
def test_other_names_get_no_hint_of_another_language(name: str) -> None:
    assert foreign_type_hint(name) == ""


@pytest.mark.parametrize(
    ("prefix", "name"),
    [
        *(("", name) for name in [*WIRE_TYPES, "Foo", "F"]),
        *((prefix, name) for prefix in ("[]", " [] ") for name in [*WIRE_TYPES, "Foo", "F"] if name != "records"),
    ],
)
def test_types_are_read_and_printed(prefix: str, name: str) -> None:
    type = FieldType.parse(f"{prefix}{name}")
    assert str(type) == f"{prefix.strip()}{name}"
    assert FieldType.parse(str(type)) == type
    assert (type.struct is None) == (name in WIRE_TYPES)
    assert type.primitive is WIRE_TYPES.get(name)
    assert type.can_be_null == (bool(prefix) or name in ("string", "bytes", "records") or name not in WIRE_TYPES)
