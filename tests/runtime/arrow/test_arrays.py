from typing import Any

import duckdb
import nanoarrow as na
import polars as pl
import pyarrow as pa
import pytest
from column_values import COMMIT, column, in_columns

import tagwire
import tagwire_messages as messages
from tagwire import EncodeError, arrow
from tagwire_drafts import kip482
from tagwire_messages.offset_commit_request import OffsetCommitRequest

pytestmark = pytest.mark.usefixtures("each_engine")
C: Any = OffsetCommitRequest
DATA = COMMIT.encode(8)
SHORT = DATA[:-1]


@pytest.mark.parametrize(
    "type",
    [pa.binary(), pa.large_binary(), pa.binary_view(), pa.string(), pa.large_string(), pa.string_view(), pa.binary(23)],
    ids=str,
)
def test_bytes_of_all_kinds(type: Any) -> None:
    # The encoded message happens to be valid UTF-8, so pyarrow can cast it to a string.
    group = C(group_id="a group's name", generation_id_or_member_epoch=1).encode(8)
    assert len(group) == 23
    data = pa.array([None, group, None, group], pa.binary()).cast(type)[1:]
    expected = in_columns(C.decode(group, 8), 8)
    assert column(arrow.decode_column(data, C, 8)) == [expected, None, expected]


def test_small_views() -> None:
    small = messages.HeartbeatResponse(error_code=5).encode(4)
    assert len(small) <= 12
    data = pa.array([small, None, small], pa.binary_view())
    expected = [5, None, 5]
    assert [
        row and row["error_code"] for row in column(arrow.decode_column(data, messages.HeartbeatResponse, 4))
    ] == expected


def test_no_rows_and_no_values() -> None:
    for data in (pa.array([], pa.binary()), pa.array([], pa.binary_view()), pa.array([], pa.null())):
        decoded = arrow.decode_column(data, C, 8)
        assert column(decoded) == []
        assert column(arrow.encode_column(decoded, C, 8)) == []
    assert column(arrow.decode_column(pa.array([None, None]), C, 8)) == [None, None]
    assert column(arrow.encode_column(pa.array([None, None]), C, 8)) == [None, None]
    empty = pa.chunked_array([], pa.binary())
    assert pa.chunked_array(arrow.decode_column(empty, C, 8)).to_pylist() == []


def test_messages_without_fields() -> None:
    decoded = arrow.decode_column(pa.array([b"", None, b""]), messages.ListGroupsRequest, 0)
    assert column(decoded) == [{}, None, {}]
    assert column(arrow.encode_column(decoded, messages.ListGroupsRequest, 0)) == [b"", None, b""]


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
    with pytest.raises(EncodeError, match=r"expected int16 \(-32768 to 32767\), got int 18446744073709551615"):
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
    with pytest.raises(EncodeError, match=r"topics\[0\].topic_id: expected uuid \(a UUID\), got 5 bytes 73686f7274"):
        arrow.encode_column(short, response.MetadataResponse, 12)


def test_offset_of_a_struct_array_applies_to_its_children() -> None:
    request = kip482.FooRequest
    origin = type(request().origin)
    rows = [request(origin=origin(host=host), user_agent=host) for host in ("a", "b", "c", "d")]
    data = [row.encode(9) for row in rows]
    decoded = pa.array(arrow.decode_column(pa.array(data), request, 9))
    for first in range(4):
        sliced = decoded[first:]
        assert column(arrow.encode_column(sliced, request, 9)) == data[first:]
    parts = [decoded.field(index)[1:] for index in range(decoded.type.num_fields)]
    again = pa.StructArray.from_arrays(parts, fields=list(decoded.type))
    assert column(arrow.encode_column(again, request, 9)) == data[1:]


def test_chunks_come_out_as_chunks() -> None:
    data = pa.chunked_array([[DATA], [], [None, DATA]])
    decoded = arrow.decode_column(data, C, 8)
    assert not hasattr(decoded, "__arrow_c_array__") or isinstance(decoded, pa.ChunkedArray)
    columns = pa.chunked_array(decoded)
    assert [len(chunk) for chunk in columns.chunks] == [1, 0, 2]
    encoded = pa.chunked_array(arrow.encode_column(decoded, C, 8))
    assert encoded.to_pylist() == data.to_pylist() and len(decoded) == 3
    versions = pa.chunked_array([[8], [], [8, 8]], pa.int16())
    assert pa.chunked_array(arrow.decode_column(data, C, versions, versions=[8])).equals(columns)


def test_with_polars() -> None:
    data = pl.Series("data", [DATA, None, SHORT, DATA], dtype=pl.Binary)
    frame = pl.Series(arrow.decode_column(data, C, 8, errors="column")).struct.unnest()
    assert frame["error"].struct["offset"].to_list() == [None, None, len(SHORT), None]
    assert frame["value"].struct["group_id"].to_list() == ["g", None, None, "g"]
    assert pl.Series(arrow.encode_column(frame["value"], C, 8)).to_list() == [DATA, None, None, DATA]
    topics = messages.MetadataResponse(topics=[messages.metadata_response.MetadataResponseTopic(name="x")]).encode(12)
    decoded = pl.Series(arrow.decode_column(pl.Series([topics]), messages.MetadataResponse, pl.Series([12])))
    assert pl.Series(arrow.encode_column(decoded, messages.MetadataResponse, pl.Series([12]))).to_list() == [topics]


def test_structs_are_table_rows_in_every_library(each_engine: str) -> None:
    table = pa.table({"group_id": ["g", "h"], "member_id": ["m", "n"]})
    expected = [C(group_id="g", member_id="m").encode(8), C(group_id="h", member_id="n").encode(8)]
    for rows in (table, pl.DataFrame(table), table.to_batches()[0]):
        encoded = pa.chunked_array(arrow.encode_column(rows, C, 8))
        assert encoded.to_pylist() == expected
    decoded = arrow.decode_column(encoded, C, 8, fields=["group_id", "member_id"])
    if each_engine == "native":
        assert pa.table(decoded).equals(table.cast(pa.schema(arrow.schema(C, 8, fields=["group_id", "member_id"]))))
        assert pl.DataFrame(decoded).equals(pl.DataFrame(table))


def test_with_duckdb_and_nanoarrow(each_engine: str) -> None:
    rows = pa.record_batch(arrow.decode_column(pa.array([DATA, DATA]), C, 8))
    with duckdb.connect() as database:
        database.register(
            "made", arrow.decode_column(pa.array([DATA, DATA]), C, 8) if each_engine == "native" else rows
        )
        database.execute("select group_id, topics[1].name, topics[1].unknown_tags[5] from made")
        found = database.fetchall()
    assert found == [("g", "a topic with a long name", b"abc")] * 2
    taken = na.Array([DATA, DATA], na.binary())
    assert column(arrow.decode_column(taken, C, 8)) == rows.to_pylist()
    plain = arrow.decode_column(taken, C, 8, unknown_tags=False)
    assert na.Array(plain).to_pylist()[0]["topics"][0]["name"] == "a topic with a long name"


@pytest.mark.parametrize("call", [arrow.decode_column, arrow.encode_column])
def test_objects_that_are_not_arrays(call: Any) -> None:
    for data in (None, [DATA], b"x", 7):
        with pytest.raises(arrow.ColumnError, match=f"data is a {type(data).__name__}, not an Arrow array"):
            call(data, C, 8)
    for version, text in (("8", "version is a str, not an Arrow array"), (None, "version: expected an int, or an A")):
        with pytest.raises(arrow.ColumnError, match=text):
            call(pa.array([b"x"]), C, version)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pa.array([1]), r"data: expected binary, got the Arrow type 'int64'$"),
        (pa.array([1.5]), r"data: expected binary, got the Arrow type 'double'$"),
        (pa.array([[b"x"]]), r"data: expected binary, got the Arrow type 'list.*'$"),
        (
            pa.array([[b"x"]], pa.list_(pa.binary(), 1)),
            r"data: expected binary, got the Arrow type 'fixed_size_list.*\[1\]'",
        ),
        (
            pa.table({"a": [b"x"]}),
            r"data: expected binary, got the Arrow type 'struct.*'; of a table, give the column that has them",
        ),
        *(
            (pa.array([], type), rf"data: expected binary, got the Arrow type '{name}'$")
            for type, name in (
                (pa.timestamp("us"), r"timestamp\[us\]"),
                (pa.timestamp("ms", "Asia/Tokyo"), r"timestamp\[ms, (tz=)?Asia/Tokyo\]"),
                (pa.date32(), r"date32\[day\]"),
                (pa.time64("ns"), r"time64\[ns\]"),
                (pa.list_view(pa.int8()), "list_view.*"),
            )
        ),
    ],
)
def test_columns_that_are_not_bytes(data: Any, message: str) -> None:
    with pytest.raises(arrow.ColumnError, match=message):
        arrow.decode_column(data, C, 8)


EPOCH = "generation_id_or_member_epoch"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([b"x"], "the array: expected (struct<|a struct)"),
        ([{"group_id": 7}], "group_id: expected (a )?string, got the Arrow type"),
        ([{"group_id": b"x"}], "group_id: expected (a )?string, got the Arrow type"),
        *(([{EPOCH: value}], f"{EPOCH}: expected (int32|an integer), got the Arrow type") for value in (True, 1.5)),
        ([{"topics": "x"}], "topics: expected (list<|a list)"),
        ([{"topics": ["x"]}], r"topics\[\]: expected (struct<|a struct)"),
        ([{"topics": [{"name": [1]}]}], r"topics\[\].name: expected (a )?string, got the Arrow type"),
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
