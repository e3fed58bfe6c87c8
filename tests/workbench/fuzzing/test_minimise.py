from typing import Any

import pytest
from change_specs import field, read, spec

import tagwire
import tagwire_drafts.kip482
import tagwire_messages as kafka
from tagwire import DecodeError
from tagwire_generator.message_classes import message_class
from tagwire_workbench.fuzzing.corpus import seeds
from tagwire_workbench.fuzzing.minimise import minimise, same_failure
from tagwire_workbench.fuzzing.mutate import RULES, InputFraming, Mutator

METADATA = InputFraming(kafka.registry, kafka.MetadataResponse, 12)


def many() -> bytes:
    return dict(seeds(kafka.MetadataResponse, 12))["many"].encode(12)


def decoded(cls: Any, data: bytes, version: int) -> Any:
    try:
        return cls.decode(data, version)
    except DecodeError:
        return None


def test_one_of_many_partitions_remains() -> None:
    """The minimised input must have no brokers, and a single topic with an empty name and only one partition."""

    def keeps(data: bytes) -> bool:
        found = decoded(kafka.MetadataResponse, data, 12)
        return found is not None and any(p.leader_id == 1 for topic in found.topics for p in topic.partitions)

    result = minimise(many(), keeps, METADATA)
    partition = kafka.metadata_response.MetadataResponsePartition(leader_id=1)
    found = decoded(kafka.MetadataResponse, result.data, 12)
    assert result.is_done and found.brokers == () and found.cluster_id in (None, "")
    assert [topic.partitions for topic in found.topics] == [(partition,)] and not found.topics[0].name


def test_minimised_strings_are_short_and_ascii() -> None:
    data = kafka.HeartbeatRequest(group_id="söme gröup", member_id="m" * 99, generation_id=77).encode(4)
    framing = InputFraming(kafka.registry, kafka.HeartbeatRequest, 4)

    def keeps(data: bytes) -> bool:
        found = decoded(kafka.HeartbeatRequest, data, 4)
        return found is not None and len(found.group_id) >= 4

    result = minimise(data, keeps, framing)
    assert kafka.HeartbeatRequest.decode(result.data, 4) == kafka.HeartbeatRequest(group_id="aaaa", member_id="")


@pytest.mark.parametrize("rule", sorted(set(RULES) - {"an unknown API key"}))
def test_minimised_errors_stay_the_same(rule: str) -> None:
    mutator = Mutator(kafka.registry, kind="response", prefix="key")
    wrong = mutator.mutate(b"", 1, rule=rule)

    def words(data: bytes) -> str:
        try:
            kafka.registry.response(int.from_bytes(data[:2], "big")).decode(data[4:], int.from_bytes(data[2:4], "big"))
        except DecodeError as error:
            return f"{error.message_name} {error.path.partition('[')[0]} {error.expected.translate(NO_DIGITS)}"
        except (tagwire.TagwireError, OverflowError):
            pass
        return ""

    result = minimise(wrong.data, lambda data: words(data) == words(wrong.data), mutator.framing, tries=2000)
    assert len(result.data) <= len(wrong.data) and words(result.data) == words(wrong.data) != ""


NO_DIGITS = dict.fromkeys(map(ord, "0123456789s"))


def test_framed_inputs_keep_what_is_before_them() -> None:
    framing = InputFraming(kafka.registry, frames=True, prefix="size")
    request = kafka.MetadataRequest(topics=[kafka.metadata_request.MetadataRequestTopic(name=n) for n in ("a", "bc")])
    data = framing.write(request, 9)

    def keeps(data: bytes) -> bool:
        try:
            frame = kafka.registry.decode_request(data[4:])
        except (tagwire.TagwireError, ValueError):
            return False
        return len(data) - 4 == int.from_bytes(data[:4], "big") and bool(frame.message.topics)

    read = framing.read(minimise(data, keeps, framing).data)
    assert read is not None and read.error is None and read.cls is kafka.MetadataRequest
    assert len(read.data) == len(framing.write(kafka.MetadataRequest(topics=[]), 9)) + 2


def test_optional_fields_of_the_draft() -> None:
    cls = tagwire_drafts.kip482.registry["FooRequest"]
    framing = InputFraming(tagwire_drafts.kip482.registry, cls, 9)
    data = dict(seeds(cls, 9))["many"].encode(9)
    minimised = minimise(data, lambda data: decoded(cls, data, 9) is not None, framing).data
    assert len(minimised) < len(data) / 2


@pytest.mark.parametrize(("start", "expected"), [(b"", b"\xff"), (b"\x01", b"\x01" + bytes(8))])
def test_nullable_numbers_become_null_or_0(start: bytes, expected: bytes) -> None:
    cls = message_class(read(spec(field(type="int64", more=', "nullableVersions": "0+"'))))
    framing = InputFraming(kafka.registry, cls, 0)

    def keeps(data: bytes) -> bool:
        found = framing.read(data)
        return found is not None and found.error is None and data.startswith(start)

    assert minimise(b"\x01" + bytes(range(8)), keeps, framing).data == expected


def test_bytes_alone() -> None:
    assert minimise(bytes(range(200)), lambda data: b"\x07" in data and b"\x63" in data).data == b"\x07\x63"
    assert minimise(b"abc", lambda data: True) == (b"", 2, True)


def test_the_same_failure_is_the_same_line() -> None:
    def target(data: bytes) -> None:
        if b"x" in data:
            raise ValueError(data)
        if b"y" in data:
            raise ValueError(data)

    keeps = same_failure(target, b"..x..")
    assert [keeps(data) for data in (b"x", b"y", b"")] == [True, False, False]
    assert minimise(b"yyyyxyyy", keeps).data == b"x"
