import json

import pytest

from tagwire_generator.model.field_type import FieldType, foreign_type_hint
from tagwire_generator.problems import InvalidSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import read_spec


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("list<string>", "write '[]string'"),
        ("array<long>", "write '[]int64'"),
        ("vec<Topic>", "write '[]Topic'"),
        ("string[]", "write '[]string'"),
        ("double[]", "write '[]float64'"),
        ("list", "an array is written as [] and the type of its elements"),
        ("list<list<int>>", "write '[][]int32'"),
        ("list<map<int,int>>", "an array is written as [] and the type of its elements"),
        ("list<datetime>", "write '[]int64' together with \"semantic\""),
        ("decimal(10,2)", "write 'bytes' together with \"semantic\""),
        ("duration", "write 'int64' together with \"semantic\""),
        ("optional string", "nullableVersions"),
        ("map<string,string>", "a map is an array of structs: write '[]Entry'"),
        ("map", "a map is an array of structs"),
        ("enum", "a register names the numbers"),
        ("double", "write 'float64'"),
        ("long", "write 'int64'"),
        ("int", "write 'int32'"),
        ("boolean", "write 'bool'"),
        ("optional<string>", "nullableVersions"),
        ("string?", "nullableVersions"),
        ("object", "upper-case letter"),
        ("timestamp", "write 'int64'"),
        ("List<String>", "write '[]string'"),
        ("[]long", "write 'int64'"),
    ],
)
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
