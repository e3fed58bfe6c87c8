"""What data classes do by their slots alone: equality, repr, copies, pickling."""

import copy
import pickle
import struct
from typing import Any

import pytest
from sample_messages.poll import PollRequest, PollTopic
from sample_messages.records import SeatKey

NAN = float("nan")
OTHER_NAN = struct.unpack(">d", bytes.fromhex("7ff8000000000001"))[0]
MESSAGE = PollRequest(topics=[PollTopic(name="t", partitions=[1, 2])], payload=b"xyz", unknown_tags={9: b"z"})
SAMPLES = {"of defaults": PollRequest(), "with values": MESSAGE, "of one field": SeatKey()}


@pytest.mark.parametrize("name", SAMPLES)
def test_copies_are_equal(name: str) -> None:
    message = SAMPLES[name]
    copies = [copy.copy(message), copy.deepcopy(message), message.replace()]
    copies += [pickle.loads(pickle.dumps(message, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for made in copies:
        assert type(made) is type(message) and made is not message
        assert made == message


def test_a_deep_copy_shares_nothing() -> None:
    message: Any = MESSAGE
    deep, shallow = copy.deepcopy(message), copy.copy(message)
    assert deep.topics[0] is not message.topics[0]
    assert shallow.topics[0] is message.topics[0]


def test_copies_that_leave_hold_bytes_where_there_were_views() -> None:
    seen = MESSAGE.replace(payload=memoryview(b"xyz"))
    for made in (pickle.loads(pickle.dumps(seen)), copy.deepcopy(seen)):
        assert made == seen and type(made.payload) is bytes
    assert copy.copy(seen).payload is seen.payload


def test_replace_changes_a_copy() -> None:
    changed = MESSAGE.replace(payload=b"")
    assert (changed.payload, MESSAGE.payload) == (b"", b"xyz") and changed != MESSAGE
    with pytest.raises(TypeError, match="nothing"):
        MESSAGE.replace(nothing=1)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (NAN, NAN, True),
        (NAN, float("nan"), True),
        (NAN, OTHER_NAN, False),
        (NAN, 1.5, False),
        (0.0, -0.0, False),
        (1.5, 1.5, True),
        (1.5, 2.5, False),
    ],
)
def test_floats_compare_by_what_they_are(one: float, other: float, is_same: bool) -> None:
    assert (PollRequest(ratio=one) == PollRequest(ratio=other)) is is_same


def test_a_list_is_a_tuple() -> None:
    message = PollRequest()
    message.topics = [PollTopic()]  # type: ignore[assignment]
    assert message == PollRequest(topics=(PollTopic(),))
    assert message != PollRequest(topics=(PollTopic(), PollTopic()))


@pytest.mark.parametrize("other", [1, None, PollTopic(), SeatKey()])
def test_other_types_are_unequal(other: Any) -> None:
    assert PollRequest() != other


def test_repr_has_what_differs_from_the_defaults() -> None:
    assert repr(PollRequest()) == "PollRequest()"
    assert repr(PollTopic(name="t", unknown_tags={9: b""})) == "PollTopic(name='t', unknown_tags={9: b''})"


def test_slots_and_no_hash() -> None:
    with pytest.raises(AttributeError):
        PollRequest().nothing = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="unhashable"):
        hash(PollRequest())
