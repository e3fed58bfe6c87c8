from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_messages.base import Sample
from sample_messages.poll import PollRequest, PollTopic, Rack

from tagwire.errors import EncodeError
from tagwire.layout import INT32, Array, Condition, Fixed, Item, Layout, Nested, StructLayout
from tagwire.message.field_table import FieldRow
from tagwire.message.losses import Loss, _Losses
from tagwire.versions import NONE, Versions
from tagwire.wire.buffers import ByteCount
from tagwire.wire.types import WIRE_TYPES
from tagwire.wire.unknown_tags import NO_TAGS

ONE = UUID(int=1)
SEVERAL = [PollTopic(topic_id=ONE, unknown_tags={5: b"x"}), PollTopic(partitions=[2**31])]
LOST = [
    Loss("topics[0].topic_id", ONE, ignorable=True),
    Loss("topics[0].unknown_tags", {5: b"x"}, ignorable=False),
    Loss("topics[1].partitions[0]", 2**31, ignorable=False),
]


@pytest.mark.parametrize(
    ("fields", "version", "losses", "supported"),
    [
        ({}, 0, [], "0-3"),
        ({"max_wait_ms": 5}, 0, [Loss("max_wait_ms", 5, ignorable=True)], "1-3"),
        ({"quota": 5}, 0, [Loss("quota", 5, ignorable=False)], "1-3"),
        ({"port": 5}, 2, [Loss("port", 5, ignorable=False)], "0-1"),
        ({"port": 5, "quota": 1}, 2, [Loss("port", 5, ignorable=False)], "1"),
        ({"port": 5, "reason": ""}, 1, [Loss("reason", "", ignorable=True)], "none"),
        ({"topics": None}, 0, [Loss("topics", None, ignorable=False)], "1-3"),
        ({"payload": None}, 1, [Loss("payload", None, ignorable=False)], "2-3"),
        ({"weight": 2.0}, 2, [Loss("weight", 2.0, ignorable=False)], "3"),
        ({"rack": Rack()}, 0, [], "0-3"),
        ({"rack": Rack(row=1)}, 1, [Loss("rack", Rack(row=1), ignorable=False)], "2-3"),
        ({"unknown_tags": {9: b""}}, 1, [Loss("unknown_tags", {9: b""}, ignorable=False)], "2-3"),
        ({"unknown_tags": {2: b""}}, 3, [Loss("unknown_tags", {2: b""}, ignorable=False)], "2"),
        ({"unknown_tags": {1: b""}}, 2, [Loss("unknown_tags", {1: b""}, ignorable=False)], "none"),
        ({"port": 65536}, 0, [Loss("port", 65536, ignorable=False)], "none"),
        ({"quota": 2**63}, 2, [Loss("quota", 2**63, ignorable=False)], "none"),
        ({"topics": [PollTopic(), PollTopic(name=None)]}, 2, [Loss("topics[1].name", None, ignorable=False)], "3"),
        ({"topics": SEVERAL}, 1, LOST, "none"),
        ({"topics": 5}, 0, [Loss("topics", 5, ignorable=False)], "none"),
        ({"topics": ["x"]}, 0, [Loss("topics[0]", "x", ignorable=False)], "none"),
        ({"cursor": Rack(row=300)}, 2, [Loss("cursor.row", 300, ignorable=False)], "none"),
        ({"rack": Rack(label="\ud800")}, 2, [Loss("rack.label", "\ud800", ignorable=False)], "none"),
    ],
)
def test_losses(fields: dict[str, Any], version: int, losses: list[Loss], supported: str) -> None:
    message = PollRequest()
    for name, value in fields.items():
        setattr(message, name, value)
    assert list(message.losses(version)) == losses
    assert message.supported_versions() == Versions.parse(supported)


def test_all_losses_at_once_in_the_order_of_the_fields() -> None:
    message = PollRequest(max_wait_ms=1, quota=1, cursor=Rack(), reason="x", unknown_tags={5: b""}, payload=None)
    paths = [loss.path for loss in message.losses(0)]
    assert paths == ["max_wait_ms", "quota", "cursor", "reason", "unknown_tags", "payload"]


class Gap(Sample):
    """A message with a field that is null by default, but not nullable. Specs allow this for the type `records`."""

    __slots__ = ("snapshot", "unknown_tags")

    NAME = "Gap"
    KIND = "data"
    VERSIONS = Versions(0, 6)
    FIELDS = (FieldRow("snapshot", "Snapshot", "records", Versions.parse("2-3"), default=None),)

    def __init__(self, *, snapshot: bytes | None = None) -> None:
        self.snapshot = snapshot
        self.unknown_tags = NO_TAGS


def test_the_versions_are_one_range_even_then() -> None:
    assert [loss.path for loss in Gap().losses(3)] == ["snapshot"]
    assert Gap().supported_versions() == Versions(4, 6)
    assert Gap.supported_versions() == Gap.VERSIONS
    assert Gap(snapshot=b"").supported_versions() == Versions(2, 3)


def test_reading_continues_at_the_right_position() -> None:
    int8 = Fixed(WIRE_TYPES["int8"])
    on = Condition("flag", 1, 1)
    inner = StructLayout("Inner", (Item("flag", int8, default=0), Item("x", int8, default=0, condition=on)))
    items = (
        Item("flag", int8),
        Item("inners", Array(Nested(inner), INT32, nullable=False)),
        Item("last", int8, default=0, condition=on),
    )
    writer = _Losses(Layout("Outer", None, StructLayout("Outer", items)))
    value = {"flag": 1, "inners": [{"flag": 0, "x": 1}, {"flag": 1, "x": 200}], "last": 300}
    writer.message(value, ByteCount())
    assert [loss.path for loss in writer.found] == ["inners[0]", "inners[1].x", "last"]


def test_values() -> None:
    loss = Loss("quota", 5, ignorable=False)
    assert repr(loss) == "Loss('quota', 5, ignorable=False)"
    assert loss != Loss("quota", 5, ignorable=True) and loss != 5
    with pytest.raises(TypeError):
        hash(loss)


@given(
    st.builds(
        PollRequest,
        topics=st.none() | st.lists(st.builds(PollTopic, name=st.none() | st.text(max_size=3)), max_size=2),
        quota=st.sampled_from([0, 1, 2**63]),
        max_wait_ms=st.sampled_from([500, 1]),
        port=st.sampled_from([9092, 1, -1]),
        payload=st.none() | st.binary(max_size=3),
        cursor=st.none() | st.builds(Rack, row=st.sampled_from([-1, 300])),
        weight=st.sampled_from([1.0, float("nan")]),
        unknown_tags=st.dictionaries(st.sampled_from([-1, 1, 2, 9]), st.just(b""), max_size=2),
    )
)
def test_losses_equal_what_encoding_rejects_or_drops(message: PollRequest) -> None:
    lossless = []
    for version in PollRequest.VERSIONS:
        losses = message.losses(version)
        if any(not loss.ignorable for loss in losses):
            with pytest.raises(EncodeError):
                message.encode(version)
            continue
        again = PollRequest.decode(message.encode(version), version)
        assert (again == message) == (not losses)
        if not losses:
            lossless.append(version)
    supported = message.supported_versions()
    assert lossless == (list(supported) if supported != NONE else [])
