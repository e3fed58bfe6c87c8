from collections import Counter
from collections.abc import Sequence

import pytest
import sample_messages
from sample_messages.headers import RequestHeader

import tagwire_messages as messages
from tagwire.frames.pairing import Pairing
from tagwire.frames.tcp_frames import ResponseHeaders
from tagwire.message.field_table import OptionalFields
from tagwire.versions import Versions

REGISTRY = messages.registry


def request(id: int, message: object = None) -> bytes:
    request = messages.ListGroupsRequest() if message is None else message
    return REGISTRY.encode_request(request, 5, correlation_id=id)  # type: ignore[arg-type]


def response(id: int) -> bytes:
    return id.to_bytes(4, "big", signed=True) + bytes(5)


@pytest.mark.parametrize(("requests", "answered", "want"), [
    ([(1, 5), (1, 6)], [(1, 6), (1, 5)], [1, 0]),
    ([(1, 5), (1, 5), (1, 5)], [(1, 5)] * 4, [0, 1, 2, None]),
    ([(1, 5), (2, 5)], [(2, 5), (1, 5), (1, 5)], [1, 0, None]),
    ([(1, -1), (1, 0)], [(1, 0), (1, -1)], [1, 0]),
    ([], [(1, 0)], [None]),
])  # fmt: skip
def test_first_in_first_out(
    requests: Sequence[tuple[int, int]], answered: Sequence[tuple[int, int]], want: Sequence[int | None]
) -> None:
    pairing = Pairing[int](REGISTRY)
    assert all(pairing.ask(connection, request(id), number) for number, (connection, id) in enumerate(requests))
    assert [pairing.answer(connection, response(id)) for connection, id in answered] == want
    assert sorted(pairing.rest()) == sorted(set(range(len(requests))) - set(want))


def test_a_produce_request_without_acks_does_not_wait() -> None:
    pairing = Pairing[str](REGISTRY)
    assert not pairing.ask(1, request(5, messages.ProduceRequest(acks=0)), "silent")
    assert pairing.ask(1, request(5, messages.ProduceRequest(acks=1)), "waits")
    assert pairing.answer(1, response(5)) == "waits"


def test_requests_that_do_not_fit_keep_waiting() -> None:
    pairing = Pairing[str](REGISTRY)
    for each in ("a", "b", "a"):
        pairing.ask(1, request(5), each)
    assert pairing.candidates(1, response(5)) == ("a", "b", "a")
    assert pairing.answer(1, response(5), "b".__eq__) == "b"
    assert pairing.answer(1, response(5), "b".__eq__) is None
    assert list(pairing.rest()) == ["a", "a"]


def test_missing_bytes_make_only_shared_ids_unknown() -> None:
    pairing = Pairing[int](REGISTRY)
    for number, (connection, id) in enumerate([(1, 5), (1, 5), (1, 6), (2, 5), (2, 5)]):
        pairing.ask(connection, request(id), number)
    assert pairing.miss(1) == [0, 1]
    assert [pairing.answer(*each) for each in ((1, response(5)), (1, response(6)), (2, response(5)))] == [None, 2, 3]
    pairing.close(2)
    assert pairing.answer(2, response(5)) is None and list(pairing.rest()) == [4]


def test_ids_after_fields_of_variable_size_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    pairing = Pairing[str](sample_messages.registry)
    assert pairing.has_ids
    # As in KIP-482's first draft, optional fields come before all other fields of the header.
    monkeypatch.setattr(RequestHeader, "OPTIONAL_FIELDS", OptionalFields(Versions.parse("2+")))
    pairing = Pairing[str](sample_messages.registry)
    assert not pairing.has_ids
    pairing.wait(1, b"\x00" + bytes(range(7)), "first")
    assert pairing.answer(1, response(5)) == "first"


def test_a_limit_counts_only_requests_that_wait() -> None:
    pairing = Pairing[int](REGISTRY, limit=2)
    for number in range(10):
        pairing.ask(1, request(number), number)
        assert pairing.answer(1, response(number)) == number
    for number in (1, 2, 3):
        pairing.ask(1, request(number), number)
    assert [pairing.answer(1, response(number)) for number in (1, 2, 3)] == [None, 2, 3]


@pytest.mark.parametrize(("waiting", "second", "want"), [
    ({}, 7, False), ({}, 8, True), ({7: 1, 8: 1}, 7, False), ({7: 2}, 7, True), ({7: 1, 8: 1}, 8, True),
])  # fmt: skip
def test_correlation_ids_of_consecutive_responses(waiting: dict[int, int], second: int, want: bool) -> None:
    """The second response must have the ID of a waiting request or, if none is waiting, a higher ID than the first."""
    data = b"".join(len(each).to_bytes(4, "big") + each for each in map(response, (7, second)))
    assert ResponseHeaders(Counter(waiting)).follows(data, 0, len(data) // 2) is want
