import copy
import io
import pickle
import struct
from typing import Any
from xml.etree import ElementTree

import pytest
import rich.console
import rich.pretty
from sample_messages.poll import PollRequest, PollTopic
from sample_messages.records import SeatKey

import tagwire
from tagwire import Struct
from tagwire_messages import HeartbeatRequest, MetadataResponse
from tagwire_messages.metadata_response import MetadataResponsePartition, MetadataResponseTopic

NAN = float("nan")
OTHER_NAN = struct.unpack(">d", bytes.fromhex("7ff8000000000001"))[0]
MESSAGE = PollRequest(topics=[PollTopic(name="t", partitions=[1, 2])], payload=b"xyz", unknown_tags={9: b"z"})
SAMPLES = {"of defaults": PollRequest(), "with values": MESSAGE, "of one field": SeatKey()}


@pytest.mark.parametrize("name", SAMPLES)
def test_copies_are_equal(name: str) -> None:
    message = SAMPLES[name]
    copies = [copy.copy(message), copy.deepcopy(message), message.replace()]
    copies += [pickle.loads(pickle.dumps(message, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for copied in copies:
        assert type(copied) is type(message) and copied is not message
        assert copied == message


def test_a_deep_copy_shares_nothing() -> None:
    message: Any = MESSAGE
    deep, shallow = copy.deepcopy(message), copy.copy(message)
    assert deep.topics[0] is not message.topics[0] and deep.unknown_tags is not message.unknown_tags
    assert shallow.topics[0] is message.topics[0]


def test_copies_that_leave_hold_bytes_where_there_were_views() -> None:
    seen = MESSAGE.replace(payload=memoryview(b"xyz"))
    for copied in (pickle.loads(pickle.dumps(seen)), copy.deepcopy(seen)):
        assert copied == seen and type(copied.payload) is bytes
    assert copy.copy(seen).payload is seen.payload


# Before Python 3.13, which added `copy.replace`, call `__replace__` directly.
REPLACE = {
    "method": lambda message, **changes: message.replace(**changes),
    "copy.replace": getattr(copy, "replace", lambda message, **changes: message.__replace__(**changes)),
}


@pytest.mark.parametrize("replace", REPLACE.values(), ids=REPLACE)
def test_replace_changes_a_copy(replace: Any) -> None:
    changed = replace(MESSAGE, payload=b"")
    assert (changed.payload, MESSAGE.payload) == (b"", b"xyz") and changed != MESSAGE
    with pytest.raises(TypeError, match="nothing"):
        replace(MESSAGE, nothing=1)


@pytest.mark.parametrize(("one", "other", "is_same"), [
    (NAN, NAN, True), (NAN, float("nan"), True), (NAN, OTHER_NAN, False), (NAN, 1.5, False), (0.0, -0.0, False),
    (1.5, 1.5, True), (1.5, 2.5, False),
])  # fmt: skip
def test_floats_compare_by_their_bits(one: float, other: float, is_same: bool) -> None:
    assert (PollRequest(ratio=one) == PollRequest(ratio=other)) is is_same


def test_a_list_is_a_tuple() -> None:
    message = PollRequest()
    message.topics = [PollTopic()]
    assert message == PollRequest(topics=(PollTopic(),))
    assert message != PollRequest(topics=(PollTopic(), PollTopic()))


@pytest.mark.parametrize("other", [1, None, PollTopic(), SeatKey()])
def test_other_types_are_unequal(other: Any) -> None:
    assert PollRequest() != other


def test_repr_omits_defaults() -> None:
    assert repr(PollRequest()) == "PollRequest()"
    assert repr(PollTopic(name="t", unknown_tags={9: b""})) == "PollTopic(name='t', unknown_tags={9: b''})"


def test_slots_and_no_hash() -> None:
    with pytest.raises(AttributeError):
        PollRequest().nothing = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="unhashable"):
        hash(PollRequest())


def test_patterns() -> None:
    # Structs match keyword patterns only, because the order of their fields may change.
    match tagwire.Frame(None, MESSAGE, 1):
        case tagwire.Frame(None, Struct(unknown_tags=tags), version):
            assert (tags, version) == (MESSAGE.unknown_tags, 1)
        case _:
            pytest.fail("no match")
    match tagwire.Versions(1, 3):
        case tagwire.Versions(low, high):
            assert (low, high) == (1, 3)


def test_rich_output_equals_repr() -> None:
    printed = io.StringIO()
    rich.console.Console(file=printed, width=10_000).print(rich.pretty.Pretty(MESSAGE))
    assert printed.getvalue().strip() == repr(MESSAGE)


class TestTables:
    def rows(self, struct: Struct) -> list[tuple[str, str]]:
        root = ElementTree.fromstring(struct._repr_html_())  # parsing fails unless values are escaped
        assert root.findtext("thead/tr/th") == type(struct).__name__
        return [(str(row.findtext("th")), "".join(row.find("td").itertext())) for row in root.findall("tbody/tr")]  # type: ignore[union-attr]

    def test_every_field_has_a_row(self) -> None:
        assert [name for name, _ in self.rows(MESSAGE)][: len(MESSAGE.__slots__) - 1] == list(MESSAGE.__slots__[:-1])

    def test_values_are_escaped(self) -> None:
        hostile = HeartbeatRequest(group_id="<script>&", unknown_tags={7: b"<"})
        assert ("group_id", "'<script>&'") in self.rows(hostile)
        assert "<script" not in hostile._repr_html_()
        assert self.rows(hostile)[-1] == ("unknown_tags", "tag 71 byte 3c")

    def test_structs_and_arrays_nest_and_long_ones_are_cut(self) -> None:
        topics = [MetadataResponseTopic(name=f"t{number}") for number in range(25)]
        html = MetadataResponse(topics=topics).replace(cluster_id="c")._repr_html_()
        assert html.count("<th colspan") == 1 + 20 and "and 5 more" in html and "t19" in html and "t20" not in html
        numbers = MetadataResponse(topics=[MetadataResponseTopic(partitions=[_partition(range(30))])])._repr_html_()
        assert "18, 19<p>and 10 more</p>" in numbers

    def test_defaults_are_dimmed(self) -> None:
        html = HeartbeatRequest(group_id="g")._repr_html_()
        assert html.count("opacity") == 2 * 3


def _partition(nodes: range) -> MetadataResponsePartition:
    return MetadataResponsePartition(replica_nodes=list(nodes))


def test_only_a_replaced_method_is_bound_again() -> None:
    class Bound(HeartbeatRequest):
        __slots__ = ()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bound, "encoded_size", lambda self, version: 0)
        assert Bound().encode(4) == HeartbeatRequest().encode(4)
        codec, encode = vars(Bound)["_codec"], vars(Bound)["encode"]
    assert Bound().encoded_size(4) == len(Bound().encode(4))
    assert vars(Bound)["_codec"] is codec and vars(Bound)["encode"] is encode
