"""The calls of `tagwire.arrow`: types, choices, versions by row, errors, and what can't be taken."""

from typing import Any

import duckdb
import nanoarrow as na
import polars as pl
import pyarrow as pa
import pytest
from column_values import ENGINES, in_columns

import tagwire
import tagwire_messages as messages
from tagwire import DecodeError, EncodeError, LimitError, Limits, SchemaError, UnsupportedVersionError, arrow
from tagwire_drafts import kip482
from tagwire_messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

C: Any = OffsetCommitRequest
COMMIT = C(
    group_id="g",
    member_id="mé",
    topics=[
        OffsetCommitRequestTopic(
            name="a topic with a long name",
            partitions=[OffsetCommitRequestPartition(partition_index=3, committed_metadata=None)],
            unknown_tags={5: b"abc"},
        )
    ],
)
DATA = COMMIT.encode(8)
SHORT = DATA[:-1]


@pytest.fixture(params=ENGINES, autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TAGWIRE_ENGINE", request.param)
    return str(request.param)


def column(result: Any) -> list[Any]:
    array = pa.array(result)
    array.validate(full=True)
    values: list[Any] = array.to_pylist()
    return values


# ---------------------------------------------------------------- types


def test_types() -> None:
    schema = pa.schema(arrow.schema(messages.BrokerRegistrationRequest, 4))
    assert schema.field("incarnation_id").type == pa.binary(16)
    assert schema.field("broker_id") == pa.field("broker_id", pa.int32(), nullable=False)
    assert schema.field("rack") == pa.field("rack", pa.string())
    assert schema.field("is_migrating_zk_broker").type == pa.bool_()
    assert schema.field("unknown_tags").type == pa.map_(
        pa.int32(), pa.field("value", pa.binary(), nullable=False), keys_sorted=True
    )
    listeners = schema.field("listeners").type.value_type
    assert listeners.field("port").type == pa.uint16()
    assert schema.field("previous_broker_epoch").type == pa.int64()
    quota = pa.schema(arrow.schema(messages.DescribeClientQuotasResponse, 1)).field("entries").type
    assert quota.value_type.field("values").type.value_type.field("value").type == pa.float64()


def test_wide_unsigned_numbers() -> None:
    schemas = [
        str(arrow.schema(messages.BrokerRegistrationRequest, 0, fields=["listeners"], wide_unsigned=wide))
        for wide in (False, True)
    ]
    assert "port: uint16" in schemas[0] and schemas[0].replace("uint16", "int32") == schemas[1]
    listener = messages.broker_registration_request.Listener(name="l", host="h", port=65535)
    data = messages.BrokerRegistrationRequest(listeners=[listener]).encode(0)
    for wide_unsigned in (False, True):
        made = arrow.decode_column(pa.array([data]), messages.BrokerRegistrationRequest, 0, wide_unsigned=wide_unsigned)
        assert column(made)[0]["listeners"][0]["port"] == 65535
        assert column(arrow.encode_column(made, messages.BrokerRegistrationRequest, 0)) == [data]


def test_a_schema_shows_itself() -> None:
    assert str(arrow.schema(messages.HeartbeatResponse, 4)) == (
        "throttle_time_ms: int32 not null\nerror_code: int16 not null\nunknown_tags: map<int32, binary> not null"
    )
    assert repr(arrow.schema(messages.HeartbeatResponse, 0)) == "<struct<error_code: int16 not null>>"


def test_fields_that_are_chosen() -> None:
    made = arrow.decode_column(pa.array([DATA]), C, 8, fields=["topics.partitions.partition_index", "group_id"])
    assert column(made) == [{"group_id": "g", "topics": [{"partitions": [{"partition_index": 3}]}]}]
    assert column(arrow.decode_column(pa.array([DATA, None]), C, 8, fields=[])) == [{}, None]
    assert column(arrow.decode_column(pa.array([DATA]), C, 8, unknown_tags=False)) == [
        in_columns(C.decode(DATA, 8), 8, unknown_tags=False)
    ]
    assert column(arrow.decode_column(pa.array([DATA]), C, 8, fields=["topics.unknown_tags"])) == [
        {"topics": [{"unknown_tags": [(5, b"abc")]}]}
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["group"], "OffsetCommitRequest has no field 'group' here; did you mean 'group_id'?"),
        (["topics.partition"], "OffsetCommitRequestTopic has no field 'partition' here; did you mean 'partitions'?"),
        (["group_id.x"], "group_id is no struct, so it has no field 'x'"),
        (["retention_time_ms"], "OffsetCommitRequest has no field 'retention_time_ms' here"),
        ("group_id", "fields is the text 'group_id'; a list of paths was expected: ['group_id']"),
    ],
)
def test_fields_that_there_are_not(fields: Any, message: str) -> None:
    for call in (
        lambda: arrow.schema(C, 8, fields=fields),
        lambda: arrow.decode_column(pa.array([b""]), C, 8, fields=fields),
    ):
        with pytest.raises(SchemaError) as refused:
            call()
        assert str(refused.value) == message


# ---------------------------------------------------------------- versions


def test_a_version_for_each_row() -> None:
    numbers = [8, 2, None, 9, 5]
    rows = [None if number is None else C(group_id=f"v{number}").encode(number) for number in numbers]
    rows[1] = C(retention_time_ms=77).encode(2)
    for type in (pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()):
        versions = pa.array([0, *numbers], type)[1:]
        made = arrow.decode_column(pa.array([b"", *rows])[1:], C, versions, fields=["group_id", "retention_time_ms"])
        assert [row and row["retention_time_ms"] for row in column(made)] == [-1, 77, None, -1, -1]
        everything = arrow.decode_column(pa.array(rows), C, versions)
        assert column(arrow.encode_column(everything, C, versions)) == rows


def test_versions_that_there_are_not() -> None:
    data, versions = pa.array([DATA, DATA]), pa.array([8, 77])
    with pytest.raises(
        UnsupportedVersionError, match=r"^row 1: OffsetCommitRequest has no version 77; supported"
    ) as refused:
        arrow.decode_column(data, C, versions)
    assert (refused.value.row, refused.value.version) == (1, 77)
    assert column(arrow.decode_column(data, C, versions, errors="null", fields=[])) == [{}, None]
    reason = "OffsetCommitRequest has no version 77; supported versions are 0-10"
    _, row = column(arrow.decode_column(data, C, versions, errors="column", fields=[]))
    assert row == {"value": None, "error": {"path": "", "offset": None, "reason": reason}}
    with pytest.raises(UnsupportedVersionError):
        arrow.decode_column(data, C, pa.array([8, 9]), versions=[8])
    for call in (lambda: arrow.schema(C, 77), lambda: arrow.decode_column(data, C, 77)):
        with pytest.raises(UnsupportedVersionError) as none:
            call()
        assert none.value.row is None
    huge = pa.array([2**64 - 1, 8], pa.uint64())
    assert column(arrow.decode_column(data, C, huge, errors="null", fields=[])) == [None, {}]


def test_versions_that_may_occur() -> None:
    made = arrow.decode_column(pa.array([DATA]), C, pa.array([8]), versions=[8, 9])
    assert pa.array(made).type == pa.struct(pa.schema(arrow.schema(C, [8, 9])))
    with pytest.raises(arrow.ColumnError, match="versions go with an array of them, but version is 8"):
        arrow.decode_column(pa.array([DATA]), C, 8, versions=[8])
    with pytest.raises(arrow.ColumnError, match="no version was given"):
        arrow.schema(C, [])
    with pytest.raises(arrow.ColumnError, match=r"rows come in arrays of \[1\], versions in arrays of \[2\]"):
        arrow.decode_column(pa.array([DATA]), C, pa.array([8, 9]))
    with pytest.raises(arrow.ColumnError, match="an integer was expected"):
        arrow.decode_column(pa.array([DATA]), C, pa.array(["8"]))


# ---------------------------------------------------------------- errors


def test_errors_are_raised_with_their_row() -> None:
    data = pa.chunked_array([[DATA, None], [DATA, SHORT]])
    with pytest.raises(DecodeError) as refused:
        arrow.decode_column(data, C, 8)
    with pytest.raises(DecodeError) as alone:
        C.decode(SHORT, 8)
    assert str(refused.value) == f"row 3: {alone.value}"
    assert (refused.value.row, refused.value.offset, alone.value.row) == (3, alone.value.offset, None)
    with pytest.raises(LimitError, match=r"row 0: .*Limits.elements") as limited:
        arrow.decode_column(pa.array([DATA]), C, 8, limits=Limits(elements=1))
    assert limited.value.row == 0


def test_errors_as_nulls_and_as_a_column() -> None:
    data = pa.array([SHORT, DATA, None, b"", DATA, SHORT])
    found = column(arrow.decode_column(data, C, 8, fields=["group_id"], errors="null"))
    assert found == [None, {"group_id": "g"}, None, None, {"group_id": "g"}, None]
    made = arrow.decode_column(data, C, 8, fields=["group_id"], errors="column")
    assert pa.array(made).type == pa.struct(pa.schema(arrow.schema(C, 8, fields=["group_id"], errors="column")))
    found = column(made)
    assert [row["value"] for row in found] == [None, {"group_id": "g"}, None, None, {"group_id": "g"}, None]
    assert found[2]["error"] is None
    assert found[3]["error"] == {"path": "group_id", "offset": 0, "reason": "found 0 bytes left, expected 1 byte"}
    assert found[0]["error"] == found[5]["error"] != found[3]["error"]
    for call in (arrow.decode_column, arrow.encode_column):
        with pytest.raises(arrow.ColumnError, match="errors is 'ignore'; 'raise', 'null', 'column' was expected"):
            call(data, C, 8, errors="ignore")  # type: ignore[arg-type]


def test_a_lenient_row_among_strict_ones() -> None:
    lenient = [DATA, DATA + b"x", bytes.fromhex("02ff") + DATA[2:], DATA]
    for errors in ("raise", "null"):
        found = column(arrow.decode_column(pa.array(lenient), C, 8, strict=False, errors=errors))
        assert found == [in_columns(C.decode(row, 8, strict=False), 8) for row in lenient]
    assert found[2]["group_id"] == "\ufffd"


def test_encoding_refuses_what_row_by_row_is_refused() -> None:
    number = "generation_id_or_member_epoch"
    rows = [
        {"group_id": "g"},
        None,
        {"group_id": None},
        {"group_id": "", number: 2**31},
        {"group_id": "x" * 32768, number: 0},
    ]
    data = pa.array(rows, pa.struct([("group_id", pa.string()), ("generation_id_or_member_epoch", pa.int64())]))
    for index, path in ((0, number), (2, "group_id"), (3, number), (4, "group_id")):
        with pytest.raises(EncodeError) as refused:
            arrow.encode_column(data[index:], C, 8)
        assert (refused.value.row, refused.value.path) == (0, path)
    data = pa.array([{"group_id": "g", "generation_id_or_member_epoch": 5}, None, rows[2]], data.type)
    good = C(group_id="g", generation_id_or_member_epoch=5).encode(8)
    assert column(arrow.encode_column(data, C, 8, errors="null")) == [good, None, None]
    found = column(arrow.encode_column(data, C, 8, errors="column"))
    assert found[:2] == [{"value": good, "error": None}, {"value": None, "error": None}]
    reason = "is None, but it is not nullable in this version"
    assert found[2] == {"value": None, "error": {"path": "group_id", "offset": None, "reason": reason}}


def test_fields_that_a_version_lacks() -> None:
    """Refused where they are not their defaults, unless the spec lets them be dropped."""
    data = pa.array([{"group_instance_id": None}, {"group_instance_id": "i"}])
    assert column(arrow.encode_column(data, C, 6, errors="null")) == [C().encode(6), None]
    static = pa.array([{"group_instance_id": "i"}])
    with pytest.raises(
        EncodeError, match=r"^row 0: OffsetCommitRequest v6: group_instance_id: is 'i', which this version"
    ):
        arrow.encode_column(static, C, 6)
    dropped = pa.array([{"throttle_time_ms": 9}])
    assert column(arrow.encode_column(dropped, messages.HeartbeatResponse, 0)) == [
        messages.HeartbeatResponse().encode(0)
    ]


def test_unknown_tags_of_maps() -> None:
    entries = pa.map_(pa.int64(), pa.large_binary())
    response = messages.HeartbeatResponse

    def encoded(tags: Any) -> Any:
        data = pa.array([{"unknown_tags": tags}], pa.struct([("unknown_tags", entries)]))
        return arrow.encode_column(data, response, 4)

    assert column(encoded([(1, b"a"), (3, b"")])) == [response(unknown_tags={1: b"a", 3: b""}).encode(4)]
    assert column(encoded([(3, b""), (1, b"a")])) == [response(unknown_tags={1: b"a", 3: b""}).encode(4)]
    for tags, reason in (
        ([(1, b"a"), (1, b"b")], "unknown_tags: has tag 1 twice"),
        ([(-1, b"a")], "-1 is no tag"),
        ([(2**31, b"a")], "2147483648 is no tag"),
        ([(1, None)], "None is no bytes-like object"),
        (None, "None is no mapping"),
    ):
        with pytest.raises(EncodeError, match=reason):
            encoded(tags)
    with pytest.raises(EncodeError, match="no tagged fields, so it can't carry unknown ones"):
        data = pa.array([{"unknown_tags": [(1, b"a")]}], pa.struct([("unknown_tags", entries)]))
        arrow.encode_column(data, response, 3)
    pairs = pa.array([{"unknown_tags": [{"key": 1, "value": b"a"}]}])
    assert column(arrow.encode_column(pairs, response, 4)) == column(encoded([(1, b"a")]))


# ---------------------------------------------------------------- arrays of all kinds


@pytest.mark.parametrize(
    "type",
    [pa.binary(), pa.large_binary(), pa.binary_view(), pa.string(), pa.large_string(), pa.string_view(), pa.binary(23)],
    ids=str,
)
def test_bytes_of_all_kinds(type: Any) -> None:
    group = C(group_id="a group's name", generation_id_or_member_epoch=1).encode(8)  # it happens to be UTF-8
    assert len(group) == 23
    data = pa.array([None, group, None, group], pa.binary()).cast(type)[1:]
    expected = in_columns(C.decode(group, 8), 8)
    assert column(arrow.decode_column(data, C, 8)) == [expected, None, expected]


def test_small_views() -> None:
    small = messages.HeartbeatResponse(error_code=5).encode(4)
    assert len(small) <= 12
    data = pa.array([small, None, small], pa.binary_view())
    assert [row and row["error_code"] for row in column(arrow.decode_column(data, messages.HeartbeatResponse, 4))] == [
        5,
        None,
        5,
    ]


def test_no_rows_and_no_values() -> None:
    for data in (pa.array([], pa.binary()), pa.array([], pa.binary_view()), pa.array([], pa.null())):
        made = arrow.decode_column(data, C, 8)
        assert column(made) == []
        assert column(arrow.encode_column(made, C, 8)) == []
    assert column(arrow.decode_column(pa.array([None, None]), C, 8)) == [None, None]
    assert column(arrow.encode_column(pa.array([None, None]), C, 8)) == [None, None]
    empty = pa.chunked_array([], pa.binary())
    assert pa.chunked_array(arrow.decode_column(empty, C, 8)).to_pylist() == []


def test_messages_without_fields() -> None:
    made = arrow.decode_column(pa.array([b"", None, b""]), messages.ListGroupsRequest, 0)
    assert column(made) == [{}, None, {}]
    assert column(arrow.encode_column(made, messages.ListGroupsRequest, 0)) == [b"", None, b""]


def test_lists_and_numbers_of_all_kinds() -> None:
    request = messages.metadata_request.MetadataRequest
    names = [[{"name": "a"}, {"name": None}], [], None]
    expected = [
        request(topics=[messages.metadata_request.MetadataRequestTopic(name=name) for name in ("a", "b")]).encode(9),
        request(topics=[]).encode(9),
        request(topics=None).encode(9),
    ]
    names[0] = [{"name": "a"}, {"name": "b"}]
    for kind in (pa.list_, pa.large_list):
        for text in (pa.string(), pa.large_string(), pa.string_view()):
            type = pa.struct([("topics", kind(pa.struct([("name", text)])))])
            data = pa.array([{"topics": [{"name": "no"}]}, *({"topics": each} for each in names)], type)[1:]
            assert column(arrow.encode_column(data, request, 9)) == expected
    fixed = pa.array([{"topics": names[0]}], pa.struct([("topics", pa.list_(pa.struct([("name", pa.string())]), 2))]))
    assert column(arrow.encode_column(fixed, request, 9)) == expected[:1]
    for number in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()):
        data = pa.array([{"error_code": 7}], pa.struct([("error_code", number)]))
        assert column(arrow.encode_column(data, messages.HeartbeatResponse, 4)) == [
            messages.HeartbeatResponse(error_code=7).encode(4)
        ]
    too_much = pa.array([{"error_code": 2**64 - 1}], pa.struct([("error_code", pa.uint64())]))
    with pytest.raises(EncodeError, match="18446744073709551615 is no int16"):
        arrow.encode_column(too_much, messages.HeartbeatResponse, 4)


def test_uuids_of_all_kinds() -> None:
    response = messages.metadata_response
    topic = response.MetadataResponseTopic(name="x", topic_id=__import__("uuid").UUID(int=7))
    data = response.MetadataResponse(topics=[topic]).encode(12)
    value = topic.topic_id.bytes
    for type in (pa.binary(16), pa.binary(), pa.large_binary(), pa.binary_view()):
        structs = pa.struct([("topics", pa.list_(pa.struct([("name", pa.string()), ("topic_id", type)])))])
        rows = pa.array([{"topics": [{"name": "x", "topic_id": value}]}], structs)
        assert column(arrow.encode_column(rows, response.MetadataResponse, 12)) == [data]
    short = pa.array([{"topics": [{"name": "x", "topic_id": b"short"}]}])
    with pytest.raises(EncodeError, match=r"topics\[0\].topic_id: 5 bytes 73686f7274 is no uuid"):
        arrow.encode_column(short, response.MetadataResponse, 12)


def test_structs_of_structs_in_the_middle_of_their_buffers() -> None:
    """The offset of a struct counts for all that is in it."""
    request = kip482.FooRequest
    origin = type(request().origin)
    rows = [request(origin=origin(host=host), user_agent=host) for host in ("a", "b", "c", "d")]
    data = [row.encode(9) for row in rows]
    made = pa.array(arrow.decode_column(pa.array(data), request, 9))
    for first in range(4):
        sliced = made[first:]
        assert column(arrow.encode_column(sliced, request, 9)) == data[first:]
    parts = [made.field(index)[1:] for index in range(made.type.num_fields)]
    again = pa.StructArray.from_arrays(parts, fields=list(made.type))
    assert column(arrow.encode_column(again, request, 9)) == data[1:]


def test_chunks_come_out_as_chunks() -> None:
    data = pa.chunked_array([[DATA], [], [None, DATA]])
    made = arrow.decode_column(data, C, 8)
    assert not hasattr(made, "__arrow_c_array__") or isinstance(made, pa.ChunkedArray)
    columns = pa.chunked_array(made)
    assert [len(chunk) for chunk in columns.chunks] == [1, 0, 2]
    encoded = pa.chunked_array(arrow.encode_column(made, C, 8))
    assert encoded.to_pylist() == data.to_pylist() and len(made) == 3
    versions = pa.chunked_array([[8], [], [8, 8]], pa.int16())
    assert pa.chunked_array(arrow.decode_column(data, C, versions, versions=[8])).equals(columns)


def test_with_polars() -> None:
    data = pl.Series("data", [DATA, None, SHORT, DATA], dtype=pl.Binary)
    frame = pl.Series(arrow.decode_column(data, C, 8, errors="column")).struct.unnest()
    assert frame["error"].struct["offset"].to_list() == [None, None, len(SHORT), None]
    assert frame["value"].struct["group_id"].to_list() == ["g", None, None, "g"]
    assert pl.Series(arrow.encode_column(frame["value"], C, 8)).to_list() == [DATA, None, None, DATA]
    topics = messages.MetadataResponse(topics=[messages.metadata_response.MetadataResponseTopic(name="x")]).encode(12)
    made = pl.Series(arrow.decode_column(pl.Series([topics]), messages.MetadataResponse, pl.Series([12])))
    assert pl.Series(arrow.encode_column(made, messages.MetadataResponse, pl.Series([12]))).to_list() == [topics]


def test_with_duckdb_and_nanoarrow(engine: str) -> None:
    rows = pa.record_batch(arrow.decode_column(pa.array([DATA, DATA]), C, 8))
    with duckdb.connect() as database:
        database.register("made", arrow.decode_column(pa.array([DATA, DATA]), C, 8) if engine == "native" else rows)
        database.execute("select group_id, topics[1].name, topics[1].unknown_tags[5] from made")
        found = database.fetchall()
    assert found == [("g", "a topic with a long name", b"abc")] * 2
    taken = na.Array([DATA, DATA], na.binary())
    assert column(arrow.decode_column(taken, C, 8)) == rows.to_pylist()
    plain = arrow.decode_column(taken, C, 8, unknown_tags=False)
    assert na.Array(plain).to_pylist()[0]["topics"][0]["name"] == "a topic with a long name"


# ---------------------------------------------------------------- what can't be taken


@pytest.mark.parametrize("call", [arrow.decode_column, arrow.encode_column])
def test_what_is_no_array(call: Any) -> None:
    for data in (None, [DATA], b"x", 7):
        with pytest.raises(arrow.ColumnError, match=f"data is a {type(data).__name__}, which is no Arrow array"):
            call(data, C, 8)
    with pytest.raises(arrow.ColumnError, match="version is a str, which is no Arrow array"):
        call(pa.array([b"x"]), C, "8")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pa.array([1]), r"data is of the Arrow type 'int64'; a binary was expected$"),
        (pa.array([1.5]), r"data is of the Arrow type 'double'; a binary was expected$"),
        (pa.array([[b"x"]]), r"data is of the Arrow type 'list.*'; a binary was expected$"),
        (pa.array([[b"x"]], pa.list_(pa.binary(), 1)), r"data is of the Arrow type 'fixed_size_list.*\[1\]'; a binary"),
        (pa.table({"a": [b"x"]}), r"data is of the Arrow type 'struct.*'.*; of a table, give the column that has them"),
    ],
)
def test_columns_that_are_no_bytes(data: Any, message: str) -> None:
    with pytest.raises(arrow.ColumnError, match=message):
        arrow.decode_column(data, C, 8)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([b"x"], "the array is of the Arrow type"),
        ([{"group_id": 7}], "group_id is of the Arrow type"),
        ([{"group_id": b"x"}], "group_id is of the Arrow type"),
        ([{"generation_id_or_member_epoch": True}], "generation_id_or_member_epoch is of the Arrow type"),
        ([{"generation_id_or_member_epoch": 1.5}], "generation_id_or_member_epoch is of the Arrow type"),
        ([{"topics": "x"}], "topics is of the Arrow type"),
        ([{"topics": ["x"]}], r"topics\[\] is of the Arrow type"),
        ([{"topics": [{"name": [1]}]}], r"topics\[\].name is of the Arrow type"),
        ([{"group": "x"}], "the message has no field 'group'; did you mean 'group_id'?"),
        ([{"topics": [{"nam": "x"}]}], r"topics\[\] has no field 'nam'; did you mean 'name'?"),
    ],
)
def test_structs_of_other_types(rows: list[Any], message: str) -> None:
    with pytest.raises(arrow.ColumnError, match=message):
        arrow.encode_column(pa.array(rows), C, 8)


def test_two_fields_of_one_name() -> None:
    one = pa.array(["x"])
    twice = pa.StructArray.from_arrays([one, one], ["group_id", "group_id"])
    with pytest.raises(arrow.ColumnError, match="the array has two fields 'group_id'"):
        arrow.encode_column(twice, C, 8)


def test_dictionaries() -> None:
    data = pa.array([DATA, DATA]).dictionary_encode()
    with pytest.raises(tagwire.TagwireError):
        arrow.decode_column(data, C, 8)
