from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from build_package import build_package
from mutation_claims import broken_claims, mutations
from parcel_specs import PARCEL

import tagwire_drafts.kip482
import tagwire_messages as kafka
from tagwire import DecodeError, UnsupportedVersionError
from tagwire_workbench.fuzzing.corpus import seeds
from tagwire_workbench.fuzzing.mutate import DIALECT_RULES, RULES, FramingError, InputFraming, Mutation, Mutator

ENDS = [
    (registry, registry[name], version)
    for registry in (kafka.registry, tagwire_drafts.kip482.registry)
    for name in registry
    for version in sorted({registry[name].VERSIONS.lowest, registry[name].VERSIONS.highest})
]
FORMS: dict[str, dict[str, Any]] = {
    "key": {"kind": "response", "prefix": "key"},
    "requests": {"frames": True},
    "requests after sizes": {"frames": True, "prefix": "size"},
    "responses after keys": {"frames": True, "kind": "response", "prefix": "key"},
}


def test_the_first_and_last_version_of_messages() -> None:
    broken = [text for each in ENDS[::3] for mutation in mutations(*each, 1) for text in broken_claims(mutation)]
    assert broken == []


@pytest.mark.thorough
def test_every_version_of_every_message() -> None:
    broken = [
        text
        for name in kafka.registry
        for version in kafka.registry[name].VERSIONS
        for mutation in mutations(kafka.registry, kafka.registry[name], version, 8)
        for text in broken_claims(mutation)
    ]
    assert broken == []


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_broken_as_described(rule: str) -> None:
    mutator = Mutator(kafka.registry, frames=True)
    for number in range(8):
        mutation = mutator.mutate(b"", number, rule=rule)
        assert mutation.error is not None and mutation.error.rule == rule
        with pytest.raises(DecodeError) as caught:
            kafka.registry.decode_request(mutation.data)
        assert (caught.value.path, caught.value.offset) == mutation.error[1:]


def decoded(mutation: Mutation, form: dict[str, Any]) -> Any:
    begin = 4 if "prefix" in form else 0
    rest = mutation.data[begin:]
    try:
        if form.get("frames") and mutation.message.KIND == "request":
            return kafka.registry.decode_request(rest).message
        if form.get("frames"):
            assert mutation.message.API_KEY is not None
            return kafka.registry.decode_response(rest, mutation.message.API_KEY, mutation.version).message
        return mutation.message.decode(rest, mutation.version)
    except DecodeError as error:
        error.offset += begin
        return error


@pytest.mark.parametrize("name", FORMS)
def test_framed_inputs(name: str) -> None:
    """The bytes before the message must stay valid, and offsets of errors must count from the start of the input."""
    form = FORMS[name]
    mutator, kinds = Mutator(kafka.registry, **form), Counter[str]()
    data = mutator.seed(Random(name))
    for number in range(400):
        mutation = mutator.mutate(data, number)
        kinds[mutation.kind] += 1
        if mutation.kind == "near":
            data = mutator.seed(Random(number))
            continue
        if form.get("prefix") == "size":
            assert int.from_bytes(mutation.data[:4], "big") == len(mutation.data) - 4
        found = decoded(mutation, form)
        assert isinstance(found, DecodeError) == (mutation.kind == "invalid"), (mutation, found)
        if isinstance(found, DecodeError):
            assert mutation.error is not None and (found.path, found.offset) == mutation.error[1:]
    assert set(kinds) == {"valid", "near", "invalid"}


def common(one: bytes, other: bytes) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


LEVEL = {
    "name": "Level",
    "type": "register",
    "keys": "int8",
    "closed": True,
    "entries": [{"key": 1, "name": "LOW"}, {"key": 7, "name": "HIGH"}],
}
GAUGE = {"dialect": "tagwire", "name": "Gauge", "type": "data", "validVersions": "0", "flexibleVersions": "0+"} | {
    "fields": [
        {"name": "Level", "type": "int8", "enum": "Level", "versions": "0+", "default": "LOW"},
        {"name": "Levels", "type": "[]int8", "enum": "Level", "versions": "0+"},
        {"name": "Name", "type": "string", "versions": "0+"},
    ],
}


@pytest.mark.usefixtures("own_modules")
def test_messages_of_the_tagwire_dialect(tmp_path: Path) -> None:
    """Mutations must break the rules for closed enums, unique keys and unions exactly if they claim to."""
    registry = build_package(tmp_path, "mutated", [PARCEL, LEVEL, GAUGE]).registry
    each = [(registry, cls, version) for cls in map(registry.__getitem__, registry) for version in cls.VERSIONS]
    found = [mutation for one in each for mutation in mutations(*one, 60)]
    assert [text for mutation in found for text in broken_claims(mutation)] == []
    rules = {mutation.error.rule for mutation in found if mutation.error is not None}
    assert rules >= set(DIALECT_RULES)


def test_near_mutations_change_one_position() -> None:
    data = next(message for name, message in seeds(kafka.MetadataResponse, 12) if name == "many").encode(12)
    mutator = Mutator(kafka.registry, kafka.MetadataResponse, 12)
    for number in range(500):
        mutation = mutator.mutate(data, number, kind="near").data
        alike = common(mutation, data)
        rest = common(mutation[alike:][::-1], data[alike:][::-1])
        assert mutation != data and len(data) - alike - rest <= 16, number


def test_the_same_seed_gives_the_same_bytes() -> None:
    mutators = [Mutator(kafka.registry, kind="response", prefix="key") for _ in range(2)]
    data = mutators[0].seed(Random(1))
    runs = [[mutator(data, 4096, number) for number in range(200)] for mutator in mutators]
    assert runs[0] == runs[1] and len(set(runs[0])) > 150


@pytest.mark.parametrize("data", [b"", b"\xff", b"\x00\x03\x00\x63" + bytes(20), bytes(range(256))])
def test_mutator_accepts_bytes_that_are_not_a_message(data: bytes) -> None:
    mutator = Mutator(kafka.registry, kind="request", prefix="key")
    for number in range(50):
        assert isinstance(mutator(data, 100, number), bytes)


def test_bytes_without_a_message_are_replaced_by_a_seed() -> None:
    for data, mutator in [
        (b"", Mutator(kafka.registry, kind="request", prefix="key")),
        (b"\x7f\xff\0\1ab", Mutator(kafka.registry, kind="request", frames=True)),
    ]:
        for number in range(100):
            mutation = mutator.mutate(data, number, kind="near")
            assert mutation.changes[0] == "a new seed" and mutation.version in mutation.message.VERSIONS
    cut = b"\0\3\0\x0c" + kafka.MetadataRequest(topics=None).encode(12)[:-1]
    mutation = Mutator(kafka.registry, kind="request", prefix="key").mutate(cut, 1, kind="near")
    assert len(mutation.changes) == 1 and (mutation.message, mutation.version) == (kafka.MetadataRequest, 12)


def test_no_more_bytes_than_requested() -> None:
    mutator = Mutator(kafka.registry, kafka.MetadataResponse, 12)
    data = kafka.MetadataResponse().encode(12)
    assert max(len(mutator(data, 40, number)) for number in range(300)) <= 40


def test_changes_are_reported() -> None:
    data = kafka.HeartbeatRequest(group_id="g").encode(4)
    mutator = Mutator(kafka.registry, kafka.HeartbeatRequest, 4)
    mutation = mutator.mutate(data, 4, rule="null where there is no null")
    error = mutation.error
    assert error is not None
    assert str(error) == mutation.changes[-1] == f"{error.path} at byte {error.offset}: {error.rule}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "do not identify the message"),
        ({"message": kafka.HeartbeatRequest}, "do not identify the version of HeartbeatRequest"),
        ({"prefix": "key"}, "does not identify the message; give the kind"),
        ({"prefix": "both"}, "prefix: expected 'size', 'key' or None, got 'both'"),
        ({"message": kafka.RequestHeader, "version": 1, "frames": True}, "a header has no header"),
        ({"message": kafka.RequestHeader, "version": 1, "prefix": "key"}, "RequestHeader has no API key"),
    ],
)
def test_incomplete_input_forms(words: dict[str, Any], message: str) -> None:
    with pytest.raises(FramingError, match=message):
        InputFraming(kafka.registry, **words)


def test_unknown_values_are_rejected() -> None:
    with pytest.raises(UnsupportedVersionError):
        Mutator(kafka.registry, kafka.HeartbeatRequest, 99)
    mutator = Mutator(kafka.registry, kafka.HeartbeatRequest, 0)
    words: Any
    for words, text in (
        ({"rule": "none"}, "unknown rule 'none'"),
        ({"rule": "a tag twice"}, "no mutation of kind 'a tag twice' is possible"),
        ({"kind": "bad"}, "unknown kind 'bad'; kinds are valid, near, invalid"),
    ):
        with pytest.raises(FramingError, match=text):
            mutator.mutate(b"", 1, **words)
