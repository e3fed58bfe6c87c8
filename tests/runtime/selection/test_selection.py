import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from build_package import build_package

import tagwire
import tagwire_messages as messages
from tagwire import DROP, EncodeError, Selection, SelectionError, select
from tagwire_messages.fetch_response import NodeEndpoint
from tagwire_messages.find_coordinator_response import Coordinator
from tagwire_messages.metadata_response import MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic


@pytest.fixture(params=["native", "python"], autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "python":
        monkeypatch.setattr(Selection, "_plan", lambda self, version: None)
    yield


METADATA = messages.MetadataResponse(
    brokers=[
        MetadataResponseBroker(node_id=1, host="b1", port=9092, unknown_tags={9: b"kept"}),
        MetadataResponseBroker(node_id=2, host="b2", port=9093),
    ],
    cluster_id=None,
    topics=[
        MetadataResponseTopic(
            name="orders",
            partitions=[MetadataResponsePartition(leader_id=1, replica_nodes=[1, 2]), MetadataResponsePartition()],
        ),
        MetadataResponseTopic(name=None),
    ],
)
DATA = METADATA.encode(12)
HOSTS = select(messages.MetadataResponse, "brokers[].host")
HOSTS_AND_PORTS = select(messages.MetadataResponse, "brokers[].host", "brokers[].port")


def test_rows_are_the_elements_of_the_array_that_all_paths_share() -> None:
    def read(*paths: str) -> Any:
        return select(messages.MetadataResponse, *paths).read(DATA, 12)

    assert read("brokers[].host", "brokers[].port") == [("b1", 9092), ("b2", 9093)]
    assert read("brokers[].host") == ["b1", "b2"]
    assert read("controller_id", "cluster_id") == [(-1, None)]
    assert read("brokers[].host", "controller_id") == [(["b1", "b2"], -1)]
    assert read("brokers[].host", "topics[].name") == [(["b1", "b2"], ["orders", None])]
    assert read("topics[].name", "topics[].partitions[].leader_id") == [("orders", [1, 0]), (None, [])]
    assert read("topics[].partitions[].leader_id") == [1, 0]
    assert read("topics[].partitions[].replica_nodes") == [(1, 2), ()]
    assert read("topics[].partitions[].replica_nodes[]") == [1, 2]
    assert read("controller_id", "topics[].partitions[].replica_nodes[]") == [(-1, [[[1, 2], []], []])]
    assert read("brokers[]") == list(METADATA.brokers)
    assert read("brokers") == [METADATA.brokers]


PATHS: tuple[tuple[tuple[Any, ...], str], ...] = (
    ((), "give at least one path"),
    (("brokers[].hots",), "brokers[].hots: MetadataResponseBroker has no field 'hots'; did you mean 'host'?"),
    (("broker",), "MetadataResponse has no field 'broker'; did you mean 'brokers'?"),
    (("brokers.host",), "brokers is an array; write brokers[] for its elements"),
    (("cluster_id[]",), "cluster_id is not an array; write cluster_id without []"),
    (("cluster_id.x",), "has no fields"),
    (("topics[].partitions[].replica_nodes[].x",), "has no fields"),
    (("",), "leader_id, got ''"),
    (("brokers[",), "leader_id, got 'brokers['"),
    (("brokers[0].host",), "leader_id, got 'brokers[0].host'"),
    (("brokers..host",), "leader_id, got 'brokers..host'"),
    (("brokers", "brokers[].host"), "brokers[].host and brokers overlap"),
    (("brokers[].host", "brokers"), "brokers and brokers[].host overlap"),
    (("brokers[].host", "brokers[]"), "brokers[] and brokers[].host overlap"),
    (("controller_id", "controller_id"), "controller_id and controller_id overlap"),
    ((5,), "expected a path such as topics[].partitions[].leader_id, got 5"),
)


@pytest.mark.parametrize(("paths", "text"), PATHS)
def test_paths_that_are_rejected(paths: tuple[str, ...], text: str) -> None:
    with pytest.raises(SelectionError) as caught:
        select(messages.MetadataResponse, *paths)
    assert text in str(caught.value)
    assert isinstance(caught.value, tagwire.TagwireError)


def test_everything_else_is_copied() -> None:
    data = HOSTS_AND_PORTS.rewrite(DATA, 12, lambda host, port: ("proxy." + "x" * 200, 19000 + port % 100))
    message = messages.MetadataResponse.decode(data, 12)
    assert [(each.host, each.port) for each in message.brokers] == [("proxy." + "x" * 200, 19092 + n) for n in (0, 1)]
    assert message.brokers[0].unknown_tags == {9: b"kept"}
    assert message.topics == METADATA.topics


def test_rows_are_dropped_and_appended() -> None:
    def brokers(function: Any, append: Any = ()) -> Any:
        data = HOSTS_AND_PORTS.rewrite(DATA, 12, function, append=append)
        found = messages.MetadataResponse.decode(data, 12).brokers
        return [(each.node_id, each.host, each.port) for each in found]

    def keep(*row: Any) -> Any:
        return row

    assert brokers(lambda host, port: DROP if host == "b1" else (host, port)) == [(2, "b2", 9093)]
    assert brokers(lambda host, port: DROP) == []
    assert brokers(keep, [("b3", 1)])[2:] == [(0, "b3", 1)]
    assert brokers(keep, iter([MetadataResponseBroker(node_id=7, host="b7")]))[2:] == [(7, "b7", 0)]
    assert brokers(lambda host, port: DROP, [("only", 1)]) == [(0, "only", 1)]
    names = select(messages.MetadataResponse, "topics[].partitions[].replica_nodes[]")
    assert names.read(names.rewrite(DATA, 12, lambda node: DROP if node == 1 else node), 12) == [2]


PERSON = [
    {"name": "Name", "type": "string", "versions": "0+", "required": True},
    {"name": "Age", "type": "int8", "versions": "0+", "required": True},
]
HEAD = {"dialect": "tagwire", "name": "Crew", "type": "data", "validVersions": "0", "flexibleVersions": "none"}
CREW = HEAD | {"fields": [{"name": "People", "type": "[]Person", "versions": "0+", "fields": PERSON}]}


def test_a_row_is_appended_to_elements_with_required_fields(tmp_path: Path) -> None:
    crew = build_package(tmp_path, "crew_messages", [CREW]).registry["Crew"]
    ages = select(crew, "people[].name", "people[].age")
    # The data has the int32 count 1, and one person: an int16 length, the name "a", and the int8 age 7.
    data = bytes.fromhex("00000001 0001 61 07")
    assert ages.rewrite(data, 0, lambda *row: row, append=[("b", 8)]) == bytes.fromhex("00000002 0001 61 07 0001 62 08")
    with pytest.raises(EncodeError, match="no value for name, which is required; select it too, or append a Person"):
        select(crew, "people[].age").rewrite(data, 0, int, append=[8])


def test_a_null_array_has_no_rows_and_takes_appended_ones() -> None:
    names = select(messages.MetadataRequest, "topics[].name")
    data = messages.MetadataRequest(topics=None).encode(12)
    assert names.read(data, 12) == []
    assert names.rewrite(data, 12, str) == data
    assert names.read(names.rewrite(data, 12, str, append=["orders"]), 12) == ["orders"]


def test_tagged_array_is_omitted_when_empty() -> None:
    nodes = select(messages.FetchResponse, "node_endpoints[].host", "node_endpoints[].port")
    empty = messages.FetchResponse().encode(16)
    full = messages.FetchResponse(node_endpoints=[NodeEndpoint(node_id=1, host="b1", port=1)]).encode(16)
    assert nodes.read(full, 16) == [("b1", 1)]
    assert nodes.rewrite(full, 16, lambda host, port: DROP) == empty
    added = nodes.rewrite(empty, 16, lambda *row: row, append=[NodeEndpoint(node_id=1, host="b1", port=1)])
    assert added == full
    long = nodes.rewrite(full, 16, lambda host, port: ("x" * 300, port))
    assert messages.FetchResponse.decode(long, 16).node_endpoints[0].host == "x" * 300
    cluster = select(messages.FetchRequest, "cluster_id", "replica_state.replica_id")
    plain = messages.FetchRequest().encode(15)
    assert cluster.read(plain, 15) == [(None, -1)]
    data = cluster.rewrite(plain, 15, lambda name, replica: ("c", 5))
    assert cluster.read(data, 15) == [("c", 5)]
    assert cluster.rewrite(data, 15, lambda name, replica: (None, -1)) == plain


def test_encoded_default_is_kept() -> None:
    """A rewrite must keep a default that is encoded explicitly. `decode` followed by `encode` would omit it."""
    plain = messages.FetchRequest().encode(15)
    assert plain[-1] == 0  # no tagged fields
    explicit = plain[:-1] + bytes.fromhex("01 00 01 00")  # one tagged field: cluster_id, explicitly null
    cluster = select(messages.FetchRequest, "cluster_id", "max_wait_ms")
    assert cluster.rewrite(explicit, 15, lambda name, wait: (name, wait)) == explicit
    data = cluster.rewrite(explicit, 15, lambda name, wait: ("c", wait))
    assert data == plain[:-1] + bytes.fromhex("01 00 02 02 63")


MISSING: tuple[tuple[Any, int, tuple[str, ...], Any, Any, str | None], ...] = (
    # A field that a version lacks has its default when it is read. If it is ignorable, setting it has no effect.
    (messages.OffsetCommitRequest, 2, ("group_instance_id", "group_id"), (None, ""), ("x", "g"), "group_instance_id"),
    (messages.MetadataResponse, 0, ("throttle_time_ms", "controller_id"), (0, -1), (5, 7), None),
    (messages.MetadataRequest, 1, ("allow_auto_topic_creation",), True, False, "allow_auto_topic_creation"),
)


@pytest.mark.parametrize(("cls", "version", "paths", "default", "new", "rejected"), MISSING)
def test_fields_missing_from_a_version(
    cls: Any, version: int, paths: tuple[str, ...], default: Any, new: Any, rejected: str | None
) -> None:
    data = cls().encode(version)
    selection = select(cls, *paths)
    assert selection.read(data, version) == [default]
    assert selection.rewrite(data, version, lambda *row: default) == data
    if rejected is None:
        assert selection.rewrite(data, version, lambda *row: new) == data
        return
    with pytest.raises(EncodeError) as caught:
        selection.rewrite(data, version, lambda *row: new)
    assert caught.value.path == rejected
    assert "which this version can't represent" in str(caught.value)


def test_array_missing_from_a_version_has_no_rows() -> None:
    hosts = select(messages.FindCoordinatorResponse, "coordinators[].host")
    data = messages.FindCoordinatorResponse(host="h").encode(2)
    assert hosts.read(data, 2) == []
    assert hosts.rewrite(data, 2, lambda host: "x") == data
    with pytest.raises(EncodeError, match="coordinators: is a tuple of 1, which this version can't represent"):
        hosts.rewrite(data, 2, lambda host: "x", append=[Coordinator(host="x")])


ADDRESS = "brokers[].host", "brokers[].port"
LEADERS = "topics[].name", "topics[].partitions[].leader_id"
FEW = "expected a tuple of 2 values or tagwire.DROP from the function, got 1 values"
MANY = "expected 2 values, one for each element, got 3 values; to add or drop elements, select the array itself"
NO_LIST = "expected 2 values, one for each element, got a NoneType"
REJECTED: tuple[tuple[tuple[str, ...], Any, str, str], ...] = (
    (ADDRESS, lambda host, port: (None, port), "brokers[0].host", "is None"),
    (ADDRESS, lambda host, port: (host, port * 10**6), "brokers[0].port", "expected int32"),
    (ADDRESS, lambda host, port: host, "brokers[]", "from the function, got a str"),
    (ADDRESS, lambda host, port: (host,), "brokers[]", FEW),
    (("controller_id",), lambda one: DROP, "", "rows can't be dropped, because no array"),
    (LEADERS, lambda name, leaders: (name, [*leaders, 1]), "topics[0].partitions", MANY),
    (LEADERS, lambda name, leaders: (name, None), "topics[0].partitions", NO_LIST),
)


@pytest.mark.parametrize(("paths", "function", "path", "text"), REJECTED)
def test_new_values_that_are_rejected(paths: tuple[str, ...], function: Any, path: str, text: str) -> None:
    selection = select(messages.MetadataResponse, *paths)
    with pytest.raises(EncodeError) as caught:
        selection.rewrite(DATA, 12, function)
    assert caught.value.path == path
    assert text in str(caught.value)


def test_position_of_a_rejected_value_counts_kept_rows() -> None:
    with pytest.raises(EncodeError) as caught:
        HOSTS.rewrite(DATA, 12, lambda host: DROP if host == "b1" else 5)
    assert caught.value.path == "brokers[0].host"


APPENDED: tuple[tuple[tuple[str, ...], Any, str], ...] = (
    (("controller_id",), 5, "rows can be appended only if they are the elements of a single array"),
    (("topics[].partitions[].leader_id",), 5, "rows can be appended only if they are the elements of a single array"),
    (("brokers[].host", "brokers[].port"), "x", "must be a MetadataResponseBroker or have a value for each of"),
    (("topics[].name", "topics[].partitions[].leader_id"), ("x", []), "must be a MetadataResponseTopic, because"),
)


@pytest.mark.parametrize(("paths", "row", "text"), APPENDED)
def test_rows_that_cannot_be_appended(paths: tuple[str, ...], row: Any, text: str) -> None:
    selection = select(messages.MetadataResponse, *paths)
    with pytest.raises(EncodeError, match=text):
        selection.rewrite(DATA, 12, lambda *row: row[0] if len(row) == 1 else row, append=[row])


def test_rows_appended_through_a_struct_that_is_null_by_default() -> None:
    cls = messages.StreamsGroupDescribeResponse
    groups = select(cls, "groups[].group_id", "groups[].topology.epoch")
    data = groups.rewrite(cls().encode(0), 0, lambda *row: row, append=[("g", None)])
    assert groups.read(data, 0) == [("g", None)]
    with pytest.raises(EncodeError, match=r"can't set topology.epoch, because it is in a struct that is null"):
        groups.rewrite(data, 0, lambda *row: row, append=[("g", 5)])


def test_nothing_in_a_null_struct_can_be_set() -> None:
    cls = messages.DescribeTopicPartitionsResponse
    cursor = select(cls, "throttle_time_ms", "next_cursor.topic_name")
    data = cls().encode(0)
    assert cursor.rewrite(data, 0, lambda *row: row) == data
    assert cursor.rewrite(data, 0, lambda time, name: (5, name)) == cls(throttle_time_ms=5).encode(0)
    with pytest.raises(EncodeError, match="next_cursor: is None here, so its fields can't be set"):
        cursor.rewrite(data, 0, lambda time, name: (time, "t"))


def test_values_changed_in_place_are_changes() -> None:
    def moved(broker: Any) -> Any:
        broker.host = "moved"
        return broker

    whole = select(messages.MetadataResponse, "brokers[]")
    assert [each.host for each in whole.read(whole.rewrite(DATA, 12, moved), 12)] == ["moved", "moved"]
    arrays = select(messages.MetadataResponse, "brokers")
    changed = arrays.rewrite(DATA, 12, lambda brokers: [moved(each) for each in brokers] and brokers)
    assert [each.host for each in messages.MetadataResponse.decode(changed, 12).brokers] == ["moved", "moved"]

    def lead(name: Any, leaders: list[int]) -> Any:
        for index in range(len(leaders)):
            leaders[index] = 3
        return name, leaders

    leaders = select(messages.MetadataResponse, "topics[].name", "topics[].partitions[].leader_id")
    assert leaders.read(leaders.rewrite(DATA, 12, lead), 12) == [("orders", [3, 3]), (None, [])]


def test_errors_of_the_function_are_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        HOSTS.rewrite(DATA, 12, lambda host: 1 // 0)


def test_selection_repr_and_pickling() -> None:
    hosts = select(messages.MetadataResponse, "brokers[].host", "controller_id")
    assert repr(hosts) == "tagwire.select(MetadataResponse, 'brokers[].host', 'controller_id')"
    assert hosts.message is messages.MetadataResponse
    assert pickle.loads(pickle.dumps(hosts)).paths == hosts.paths == ("brokers[].host", "controller_id")


def test_other_buffers() -> None:
    for data in (bytearray(DATA), memoryview(DATA), memoryview(bytearray(DATA))):
        assert HOSTS.read(data, 12) == ["b1", "b2"]
        assert HOSTS.rewrite(data, 12, str) == DATA
