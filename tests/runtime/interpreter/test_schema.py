from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwire.errors import DecodeError, EncodeError, LimitError, SchemaError
from tagwire.interpreter.schema import Field, Schema
from tagwire.limits import Limits


def foo_response(**options: Any) -> Schema:
    foo = Schema(Field("baz", "int16"), optional_fields={1: Field("bar", "string")}, name="Foo", **options)
    agent = Field("user_agent", "string", nullable=True)
    return Schema(Field("foos", [foo]), optional_fields={1: agent}, name="FooResponse", **options)


VALUE = {"user_agent": "ab", "foos": ({"bar": "", "baz": 7}, {"bar": "x", "baz": -1})}

# Each case: options, bytes, value. With its int16 length, "ab" takes 4 bytes, and "x" takes 3. The zig-zag varint of n
# is 2n. If `counts_tag` is true, an optional field's length includes the two-byte tag: it is 6 for "ab" and 5 for "x".
EXAMPLES = [
    ({}, "08 0001 0002 6162 00 00000002 00 0007 06 0001 0001 78 00 ffff", VALUE),
    ({"length_varint": "unsigned"}, "04 0001 0002 6162 00 00000002 00 0007 03 0001 0001 78 00 ffff", VALUE),
    ({"counts_tag": True}, "0c 0001 0002 6162 00 00000002 00 0007 0a 0001 0001 78 00 ffff", VALUE),
    (
        {"counts_tag": True, "length_varint": "unsigned"},
        "06 0001 0002 6162 00 00000002 00 0007 05 0001 0001 78 00 ffff",
        VALUE,
    ),
    ({}, "04 0001 ffff 00 00000000", {"user_agent": None, "foos": ()}),
    ({}, "00 00000000", {"user_agent": "", "foos": ()}),
    (
        {},
        "02 0000 61 08 0001 0002 6162 02 0007 62 00 00000000",
        {"user_agent": "ab", "foos": (), "unknown_tags": {7: b"b", 0: b"a"}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("options", "hex_text", "value"), EXAMPLES)
def test_the_draft_s_example(options: dict[str, Any], hex_text: str, value: dict[str, Any]) -> None:
    schema, data = foo_response(**options), bytes.fromhex(hex_text)
    assert schema.encode(value) == data
    assert schema.encoded_size(value) == len(data)
    assert schema.decode(data) == value
    assert schema.decode(memoryview(bytearray(data))) == value
    for cut in range(len(data)):
        with pytest.raises(DecodeError):
            schema.decode(data[:cut])
    with pytest.raises(DecodeError, match="after the message"):
        schema.decode(data + b"\x00")


def test_without_optional_fields_there_is_no_buffer() -> None:
    old = Schema(Field("foos", [Schema(Field("baz", "int16"))]))
    assert old.encode({"foos": [{"baz": 7}, {"baz": -1}]}) == bytes.fromhex("00000002 0007 ffff")
    assert Schema(optional_fields={}).encode({}) == b"\x00"
    assert Schema().encode({}) == b""


def test_all_types() -> None:
    inner = Schema(Field("a", "int8"), optional_fields={})
    schema = Schema(
        *(Field(name, name) for name in ("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64")),
        Field("uuid", "uuid"),
        Field("string", "string"),
        Field("bytes", "bytes", nullable=True),
        Field("records", "records", nullable=True),
        Field("numbers", "[]int16", nullable=True),
        Field("struct", inner),
        Field("structs", [inner], nullable=True),
    )
    defaults = {
        "bool": False, "int8": 0, "int16": 0, "uint16": 0, "int32": 0, "uint32": 0, "int64": 0, "float64": 0.0,
        "uuid": UUID(int=0), "string": "", "bytes": b"", "records": None, "numbers": (), "struct": {"a": 0},
        "structs": (),
    }  # fmt: skip
    data = bytes(1 + 1 + 2 + 2 + 4 + 4 + 8 + 8 + 16 + 2 + 4) + b"\xff" * 4 + bytes(4 + 2 + 4)
    assert schema.encode({}) == schema.encode(defaults) == data
    assert schema.decode(data) == defaults
    value = defaults | {"numbers": None, "structs": ({"a": 3},), "bytes": None, "uint16": 65535, "struct": {"a": -1}}
    assert schema.decode(schema.encode(value)) == value


def test_fresh_defaults_for_each_value() -> None:
    schema = Schema(optional_fields={0: Field("inner", Schema(Field("a", "float64")))})
    schema.decode(b"\x00")["inner"]["a"] = 9
    assert schema.decode(b"\x00") == {"inner": {"a": 0}} and schema.encode({"inner": {}}) == b"\x00"
    assert schema.encode({"inner": {"a": -0.0}}) == bytes.fromhex("10 0000 8000000000000000 00")


@pytest.mark.parametrize(
    ("field", "hex_text", "absent"),
    [
        (Field("x", "int32", default=5), "00", 5),
        (Field("x", "string", nullable=True, default=None), "00", None),
        (Field("x", "string", True, "a"), "00", "a"),
        (Field("x", "bytes", default=b"ab"), "00", b"ab"),
        (Field("x", "float64", default=1), "00", 1),
        (Field("x", "[]int8", default=[]), "00", ()),
        (Field("x", "records", nullable=True), "00", None),
    ],
)
def test_absent_fields_have_their_default_and_defaults_are_absent(field: Field, hex_text: str, absent: Any) -> None:
    schema = Schema(optional_fields={3: field})
    assert schema.decode(bytes.fromhex(hex_text)) == {"x": absent}
    assert schema.encode({"x": absent}) == schema.encode({}) == bytes.fromhex(hex_text)


INNER = Schema(Field("a", "int8"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Schema(Field("a", "int8"), Field("a", "int8")), "has two fields named a"),
        (lambda: Schema(Field("a", "int8"), optional_fields={0: Field("a", "int8")}), "has two fields named a"),
        (lambda: Schema(optional_fields={0: Field("a", "int8"), 1: Field("a", "int8")}), "has two fields named a"),
        (lambda: Schema(optional_fields={65536: Field("a", "int8")}), "a: expected a tag (0 to 65535), got 65536"),
        (lambda: Schema(optional_fields={-1: Field("a", "int8")}), "a: expected a tag (0 to 65535), got -1"),
        (lambda: Schema(optional_fields={True: Field("a", "int8")}), "a: expected a tag (0 to 65535), got True"),
        (lambda: Schema(optional_fields={"0": Field("a", "int8")}), "a: expected a tag (0 to 65535), got '0'"),  # type: ignore[dict-item]
        (lambda: Schema(optional_fields={0: Field("a", [INNER])}), "a: by default, an optional field can't be an"),
        (lambda: Schema(Field("a", "int8"), length_varint="signed"), "'zigzag' or 'unsigned', got 'signed'"),
        (lambda: Schema({1: Field("a", "int8")}, Field("b", "int8")), "optional_fields={tag: Field(...)}"),  # type: ignore[arg-type]
        (lambda: Schema("a"), "expected a Field, got 'a'"),  # type: ignore[arg-type]
        (lambda: Schema(optional_fields={0: "a"}), "expected a Field, got 'a'"),  # type: ignore[dict-item]
        (lambda: Field("a", "int9"), "a has type 'int9'; did you mean 'int"),
        (lambda: Field("a", "[][]int8"), "a has type '[]int8'"),
        (lambda: Field("a", 5), "a has type 5; expected bool, int8"),  # type: ignore[arg-type]
        (lambda: Field("a", []), "a has type []; expected"),
        (lambda: Field("a", ["int8"]), "; expected bool, int8"),  # type: ignore[list-item]
        (lambda: Field("a", [INNER, INNER]), "; expected bool, int8"),
        (lambda: Field("a", "int8", nullable=True), "a is of type int8, which can't be nullable"),
        (lambda: Field("a", "uuid", nullable=True), "a is of type uuid, which can't be nullable"),
        (lambda: Field("a", INNER, nullable=True), "a is a struct, which can't be nullable"),
        (lambda: Field("", "int8"), "'unknown_tags', got ''"),
        (lambda: Field("unknown_tags", "int8"), "'unknown_tags', got 'unknown_tags'"),
        (lambda: Field("a", "int8", default=200), "not a valid int8: expected int8 (-128 to 127), got int 200"),
        (lambda: Field("a", "int8", default=None), "not a valid int8: expected int8 (-128 to 127), got None"),
        (lambda: Field("a", "string", default=None), "is None, but it is not nullable"),
        (lambda: Field("a", "string", default=b"x"), "expected a string"),
        (lambda: Field("a", "[]int8", default=(1,)), "a: the default of a struct or array must be empty, got"),
        (lambda: Field("a", "[]int8", default=None), "is None, but it is not nullable"),
        (lambda: Field("a", INNER, default={"a": 1}), "the default of a struct or array must be empty"),
        (lambda: Field("a", [Schema()]), "can be encoded in 0 bytes"),
    ],
)  # fmt: skip
def test_contradictions_are_rejected(make: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        make()
    assert message in str(caught.value)


def test_fields_show_their_type() -> None:
    assert repr(Field("a", "[]int8")) == "<field a: []int8>"
    assert repr(Field("b", "string", nullable=True)) == "<field b: nullable string>"


def test_arrays_of_structs_by_option() -> None:
    schema = Schema(optional_fields={0: Field("a", [INNER])}, allow_struct_arrays=True)
    data = bytes.fromhex("0a 0000 00000001 05 00")
    assert schema.encode({"a": [{"a": 5}]}) == data
    assert schema.decode(data) == {"a": ({"a": 5},)}


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        ({"foos": [{"baz": 40000}]}, "foos[0].baz", "expected int16 (-32768 to 32767), got int 40000"),
        ({"foos": None}, "foos", "is None"),
        ({"foo": []}, "", "FooResponse has no field 'foo'; did you mean 'foos'?"),
        ({"foos": [{"bar": None}]}, "foos[0].bar", "is None"),
        ({"foos": [5]}, "foos[0]", "expected a mapping of field names to values, got int 5"),
        ({"unknown_tags": {1: b"x"}}, "unknown_tags", "tag 1 is the field user_agent"),
        ({"unknown_tags": {5: b""}}, "unknown_tags", "tag 5 has no data; add at least 1 byte"),
        ({"unknown_tags": {65536: b"x"}}, "unknown_tags", "expected a tag (0 to 65535), got int 65536"),
    ],
)
def test_values_that_do_not_fit(value: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(EncodeError) as caught:
        foo_response().encode(value)
    assert caught.value.path == path and message in str(caught.value)
    with pytest.raises(EncodeError):
        foo_response().encoded_size(value)


@pytest.mark.parametrize(
    ("hex_text", "path", "offset", "message"),
    [
        ("08 0001 0002 6162", "", 7, "0 bytes left"),
        ("07 0001", "", 0, "found length -4, expected 0 or more (0 ends the optional fields)"),
        ("01", "", 0, "found length -1, expected 0 or more (0 ends the optional fields)"),
        ("8000", "", 0, "varint 0 in 2 bytes"),
        ("0a 0001 0002 6162 00 00 00000000", "user_agent", 7, "found 1 byte after the value"),
        ("06 0001 0002 6162 00 00000000", "user_agent", 5, "found 1 byte left, expected 2 bytes"),
        ("08 0001 0002 6162 02 0000 61 00 00000000", "", 7, "found tag 0 after tag 1, expected ascending tags"),
        ("04 0001 ffff 04 0001 ffff 00 00000000", "", 5, "found tag 1 twice, expected each tag once"),
        ("7e 0005 00", "", 0, "found tag 5 of 63 bytes, expected at most 1 byte (all that is left)"),
        ("00 00000001 00", "foos", 1, "found 1 element"),
        ("00 00000001 01 0000", "foos[0]", 5, "found length -1"),
    ],
)
def test_bytes_that_do_not_fit(hex_text: str, path: str, offset: int, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        foo_response().decode(bytes.fromhex(hex_text))
    assert (caught.value.path, caught.value.offset) == (path, offset)
    assert message in str(caught.value)


def test_a_length_that_counts_the_tag_is_more_than_two() -> None:
    with pytest.raises(DecodeError, match="found tag 1 of 0 bytes, expected 1 byte or more"):
        foo_response(counts_tag=True).decode(bytes.fromhex("04 0001 00 00000000"))


def test_lenient_and_limits() -> None:
    assert foo_response().decode(bytes.fromhex("00 00000000 ff"), strict=False) == {"user_agent": "", "foos": ()}
    with pytest.raises(LimitError):
        foo_response().decode(bytes.fromhex("00 00000000"), limits=Limits(bytes=4))


@given(
    st.fixed_dictionaries(
        {"foos": st.lists(st.fixed_dictionaries({"bar": st.text(), "baz": st.integers(-(2**15), 2**15 - 1)}))},
        optional={
            "user_agent": st.none() | st.text(),
            "unknown_tags": st.dictionaries(st.integers(2, 65535), st.binary(min_size=1, max_size=200), min_size=1),
        },
    ),
    st.sampled_from(["zigzag", "unsigned"]),
    st.booleans(),
)
def test_round_trips(value: dict[str, Any], length_varint: str, counts_tag: bool) -> None:
    schema = foo_response(length_varint=length_varint, counts_tag=counts_tag)
    data = schema.encode(value)
    assert len(data) == schema.encoded_size(value)
    assert schema.decode(data) == {"user_agent": "", **value, "foos": tuple(value["foos"])}
    assert schema.encode(schema.decode(data)) == data
