from typing import Any

import pyarrow as pa
import pytest
from column_values import COMMIT, column, in_columns

import tagwire_messages as messages
from tagwire import DecodeError, EncodeError, LimitError, Limits, SchemaError, UnsupportedVersionError, arrow
from tagwire_messages.alter_client_quotas_request import AlterClientQuotasRequest, EntryData, OpData
from tagwire_messages.offset_commit_request import OffsetCommitRequest

pytestmark = pytest.mark.usefixtures("each_engine")
C: Any = OffsetCommitRequest
DATA = COMMIT.encode(8)
SHORT = DATA[:-1]


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


def test_unsigned_numbers_as_signed_columns() -> None:
    schemas = [
        str(arrow.schema(messages.BrokerRegistrationRequest, 0, fields=["listeners"], wide_unsigned=wide))
        for wide in (False, True)
    ]
    assert "port: uint16" in schemas[0] and schemas[0].replace("uint16", "int32") == schemas[1]
    listener = messages.broker_registration_request.Listener(name="l", host="h", port=65535)
    data = messages.BrokerRegistrationRequest(listeners=[listener]).encode(0)
    for wide_unsigned in (False, True):
        cls = messages.BrokerRegistrationRequest
        decoded = arrow.decode_column(pa.array([data]), cls, 0, wide_unsigned=wide_unsigned)
        assert column(decoded)[0]["listeners"][0]["port"] == 65535
        assert column(arrow.encode_column(decoded, cls, 0)) == [data]


def test_a_schema_shows_itself() -> None:
    assert str(arrow.schema(messages.HeartbeatResponse, 4)) == (
        "throttle_time_ms: int32 not null\nerror_code: int16 not null\nunknown_tags: map<int32, binary> not null"
    )
    assert repr(arrow.schema(messages.HeartbeatResponse, 0)) == "<struct<error_code: int16 not null>>"


def test_fields_that_are_chosen() -> None:
    decoded = arrow.decode_column(pa.array([DATA]), C, 8, fields=["topics.partitions.partition_index", "group_id"])
    assert column(decoded) == [{"group_id": "g", "topics": [{"partitions": [{"partition_index": 3}]}]}]
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
        (["group"], "OffsetCommitRequest has no field 'group' in the selected versions; did you mean 'group_id'?"),
        (
            ["topics.partition"],
            "OffsetCommitRequestTopic has no field 'partition' in the selected versions; did you mean 'partitions'?",
        ),
        (["group_id.x"], "group_id is not a struct, so it has no field 'x'"),
        (["retention_time_ms"], "OffsetCommitRequest has no field 'retention_time_ms' in the selected versions"),
        ("group_id", "fields: expected a list of paths, got the string 'group_id'; write ['group_id']"),
    ],
)
def test_unknown_fields(fields: Any, message: str) -> None:
    for call in (
        lambda: arrow.schema(C, 8, fields=fields),
        lambda: arrow.decode_column(pa.array([b""]), C, 8, fields=fields),
    ):
        with pytest.raises(SchemaError) as rejected:
            call()
        assert str(rejected.value) == message


def test_a_version_for_each_row() -> None:
    numbers = [8, 2, None, 9, 5]
    rows = [None if number is None else C(group_id=f"v{number}").encode(number) for number in numbers]
    rows[1] = C(retention_time_ms=77).encode(2)
    for type in (pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()):
        versions = pa.array([0, *numbers], type)[1:]
        decoded = arrow.decode_column(pa.array([b"", *rows])[1:], C, versions, fields=["group_id", "retention_time_ms"])
        assert [row and row["retention_time_ms"] for row in column(decoded)] == [-1, 77, None, -1, -1]
        everything = arrow.decode_column(pa.array(rows), C, versions)
        assert column(arrow.encode_column(everything, C, versions)) == rows


def test_unknown_versions() -> None:
    data, versions = pa.array([DATA, DATA]), pa.array([8, 77])
    with pytest.raises(
        UnsupportedVersionError, match=r"^row 1: OffsetCommitRequest has no version 77; supported"
    ) as rejected:
        arrow.decode_column(data, C, versions)
    assert (rejected.value.row, rejected.value.version) == (1, 77)
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
    decoded = arrow.decode_column(pa.array([DATA]), C, pa.array([8]), versions=[8, 9])
    assert pa.array(decoded).type == pa.struct(pa.schema(arrow.schema(C, [8, 9])))
    with pytest.raises(arrow.ColumnError, match="`versions` can only be given if `version` is an Arrow array, but"):
        arrow.decode_column(pa.array([DATA]), C, 8, versions=[8])
    with pytest.raises(arrow.ColumnError, match="pass a version, because the columns depend"):
        arrow.schema(C, [])
    with pytest.raises(
        arrow.ColumnError,
        match=r"expected `data` and `version` to have chunks of the same lengths, got lengths \[1\] and \[2\] ",
    ):
        arrow.decode_column(pa.array([DATA]), C, pa.array([8, 9]))
    with pytest.raises(arrow.ColumnError, match="expected an integer"):
        arrow.decode_column(pa.array([DATA]), C, pa.array(["8"]))


def test_errors_are_raised_with_their_row() -> None:
    data = pa.chunked_array([[DATA, None], [DATA, SHORT]])
    with pytest.raises(DecodeError) as rejected:
        arrow.decode_column(data, C, 8)
    with pytest.raises(DecodeError) as alone:
        C.decode(SHORT, 8)
    assert str(rejected.value) == f"row 3: {alone.value}"
    assert (rejected.value.row, rejected.value.offset, alone.value.row) == (3, alone.value.offset, None)
    with pytest.raises(LimitError, match=r"row 0: .*Limits.elements") as limited:
        arrow.decode_column(pa.array([DATA]), C, 8, limits=Limits(elements=1))
    assert limited.value.row == 0


@pytest.mark.parametrize("most", [2, 3])
def test_a_limit_may_be_reached(most: int) -> None:
    data = pa.array([C(group_id="g", unknown_tags={99: b"abc"}).encode(8)])
    if most < 3:
        with pytest.raises(LimitError, match="unknown_tag_bytes"):
            arrow.decode_column(data, C, 8, limits=Limits(unknown_tag_bytes=most))
    else:
        assert len(column(arrow.decode_column(data, C, 8, limits=Limits(unknown_tag_bytes=most)))) == 1


def test_errors_as_nulls_and_as_a_column() -> None:
    data = pa.array([SHORT, DATA, None, b"", DATA, SHORT])
    found = column(arrow.decode_column(data, C, 8, fields=["group_id"], errors="null"))
    assert found == [None, {"group_id": "g"}, None, None, {"group_id": "g"}, None]
    decoded = arrow.decode_column(data, C, 8, fields=["group_id"], errors="column")
    assert pa.array(decoded).type == pa.struct(pa.schema(arrow.schema(C, 8, fields=["group_id"], errors="column")))
    found = column(decoded)
    assert [row["value"] for row in found] == [None, {"group_id": "g"}, None, None, {"group_id": "g"}, None]
    assert found[2]["error"] is None
    assert found[3]["error"] == {"path": "group_id", "offset": 0, "reason": "found 0 bytes left, expected 1 byte"}
    assert found[0]["error"] == found[5]["error"] != found[3]["error"]
    for call in (arrow.decode_column, arrow.encode_column):
        with pytest.raises(arrow.ColumnError, match="errors: expected one of 'raise', 'null', 'column', got 'ignore'"):
            call(data, C, 8, errors="ignore")  # type: ignore[arg-type]


def test_negative_zero_in_a_leniently_decoded_row() -> None:
    """Check that -0.0 stays negative in a row whose boolean is the byte 2, which only lenient decoding accepts."""
    op = OpData(key="k", value=-0.0, remove=True)
    data = AlterClientQuotasRequest(entries=[EntryData(ops=[op])], validate_only=True).encode(1)
    rows = pa.array([data, data.replace(b"\x01\x00\x00", b"\x02\x00\x00")])
    assert rows[0] != rows[1]
    found = column(arrow.decode_column(rows, AlterClientQuotasRequest, 1, strict=False))
    assert [repr(row["entries"][0]["ops"][0]["value"]) for row in found] == ["-0.0", "-0.0"]


def test_a_lenient_row_among_strict_ones() -> None:
    lenient = [DATA, DATA + b"x", bytes.fromhex("02ff") + DATA[2:], DATA]
    for errors in ("raise", "null"):
        found = column(arrow.decode_column(pa.array(lenient), C, 8, strict=False, errors=errors))
        assert found == [in_columns(C.decode(row, 8, strict=False), 8) for row in lenient]
    assert found[2]["group_id"] == "\ufffd"


def test_encoding_rejects_the_same_values_as_row_by_row() -> None:
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
        with pytest.raises(EncodeError) as rejected:
            arrow.encode_column(data[index:], C, 8)
        assert (rejected.value.row, rejected.value.path) == (0, path)
    data = pa.array([{"group_id": "g", "generation_id_or_member_epoch": 5}, None, rows[2]], data.type)
    good = C(group_id="g", generation_id_or_member_epoch=5).encode(8)
    assert column(arrow.encode_column(data, C, 8, errors="null")) == [good, None, None]
    found = column(arrow.encode_column(data, C, 8, errors="column"))
    assert found[:2] == [{"value": good, "error": None}, {"value": None, "error": None}]
    reason = "is None, but it is not nullable in this version"
    assert found[2] == {"value": None, "error": {"path": "group_id", "offset": None, "reason": reason}}


def test_fields_missing_from_a_version() -> None:
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
        ([(1, b"a"), (1, b"b")], "unknown_tags: tag 1 appears twice"),
        ([(-1, b"a")], r"2147483647\), got int -1"),
        ([(2**31, b"a")], r"2147483647\), got int 2147483648"),
        ([(1, None)], "expected bytes, got None"),
        (None, "expected a mapping of tags to bytes, got None"),
    ):
        with pytest.raises(EncodeError, match=reason):
            encoded(tags)
    with pytest.raises(EncodeError, match="no tagged fields, so unknown tags can't be written"):
        data = pa.array([{"unknown_tags": [(1, b"a")]}], pa.struct([("unknown_tags", entries)]))
        arrow.encode_column(data, response, 3)
    pairs = pa.array([{"unknown_tags": [{"key": 1, "value": b"a"}]}])
    assert column(arrow.encode_column(pairs, response, 4)) == column(encoded([(1, b"a")]))
