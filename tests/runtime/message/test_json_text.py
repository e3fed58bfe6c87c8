import gc
import json
import random
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import golden_files
import pytest
from native_engine import in_use, native
from sample_messages.poll import PollRequest

import tagwire
import tagwire_messages as messages
from tagwire.message.json_text import dumped
from tagwire_messages import HeartbeatRequest, JoinGroupRequest, MetadataResponse
from tagwire_messages.metadata_response import MetadataResponseTopic as Topic

CLASSES = {
    cls.__module__.rpartition(".")[2]: cls for cls in map(messages.registry.__getitem__, messages.registry.names())
}
GOLDEN = [
    (CLASSES[path.stem], golden.version, golden.value)
    for path in sorted(golden_files.FOLDER.glob("*.txt"))
    for golden in golden_files.read_file(path)
]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Any]:
    def outcome(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except tagwire.TagwireError as fault:
            return f"{type(fault).__name__}: {fault}"

    def run(call: Callable[[], Any]) -> Any:
        found = []
        for engine in ("native", "python"):
            monkeypatch.setenv("TAGWIRE_ENGINE", engine)
            found.append(outcome(call))
        assert found[0] == found[1]
        assert repr(found[0]) == repr(found[1])  # compared as strings, because 1 and True are equal
        return found[0]

    return run


@native
@pytest.mark.thorough
def test_every_version_of_every_message(both: Callable[[Callable[[], Any]], Any]) -> None:
    for cls, version, value in GOLDEN:
        message = both(lambda: cls.from_json(value, version))  # noqa: B023 - called at once
        for style in ("lossless", "kafka"):
            obj = both(lambda: message.to_json(version, style=style))  # noqa: B023
            for indent in (None, 0, 2):
                text = both(lambda: message.to_json_text(version, style=style, indent=indent))  # noqa: B023
                assert text == json.dumps(obj, indent=indent, ensure_ascii=False)
        text = json.dumps(value)
        assert both(lambda: cls.from_json_text(text, version)) == message  # noqa: B023
        assert both(lambda: cls.from_json_text(text.encode(), version)) == message  # noqa: B023


def mutations(text: str, seed: int) -> Iterator[str]:
    chosen = random.Random(seed)
    for _ in range(40):
        at, end = sorted(chosen.randrange(len(text) + 1) for _ in range(2))
        piece = text[at : min(end, at + 30)]
        letter = chosen.choice('{}[]",:\\0123456789-+.eEtrufalsn \n\té\x00\ud800𝄞')
        before, after = text[:at], text[at:]
        changes = (before + letter + after, before + letter + after[1:], before + after[1:], before)
        moves = (before + piece + after, before + after[len(piece) :], text + letter)
        yield chosen.choice((*changes, *moves))


@native
def test_slightly_invalid_json(both: Callable[[Callable[[], Any]], Any]) -> None:
    rejected = 0
    for number, (cls, version, value) in enumerate(GOLDEN[::8]):
        text = json.dumps(value, ensure_ascii=number % 2 == 0)
        for mutated in mutations(text, number):
            found = both(lambda: cls.from_json_text(mutated, version))  # noqa: B023
            rejected += isinstance(found, str)
    assert rejected > 1000


def changed(value: Any, chosen: random.Random) -> Any:
    odd = [
        *(None, True, 0, -1, 2**31, 2**63, 2**70, 1.5, float("nan"), "", "x", "AAAA", "AA==", "é", b""),
        *([], {}, [None], {"a": 1}),
    ]
    if isinstance(value, dict) and value and chosen.random() < 0.8:
        key = chosen.choice([*value])
        if chosen.random() < 0.1:
            return {name: field for name, field in value.items() if name != key}
        if chosen.random() < 0.1:
            return {**value, key + "x": 1}
        return {**value, key: changed(value[key], chosen)}
    if isinstance(value, list) and value and chosen.random() < 0.7:
        at = chosen.randrange(len(value))
        return [*value[:at], changed(value[at], chosen), *value[at + 1 :]]
    return chosen.choice(odd)


@native
def test_slightly_invalid_values(both: Callable[[Callable[[], Any]], Any]) -> None:
    chosen = random.Random(7)
    rejected = 0
    for cls, version, value in GOLDEN[::3]:
        for _ in range(25):
            obj = changed(value, chosen)
            rejected += isinstance(both(lambda: cls.from_json(obj, version)), str)  # noqa: B023
    assert rejected > 2000


class Tagged(str):
    pass


@native
@pytest.mark.parametrize(
    "fields",
    [
        {"controller_id": messages.ApiKey(3)},
        {"controller_id": True},
        {"controller_id": 2**40},
        {"cluster_id": Tagged("c")},
        {"cluster_id": 'quote " back \\ \b\f\n\r\t\x00\x1f\x7f é 中 𝄞 </script>'},
        {"cluster_id": "\ud800"},
        {"topics": (Topic(name="t", is_internal=1),)},  # type: ignore[arg-type]
        {"topics": (Topic(name=None, topic_id=UUID(int=2**128 - 1)),)},
        {"unknown_tags": {5: b"x", 2: b""}},
        {"unknown_tags": {5: "no bytes"}},
        {"brokers": [5]},
    ],
)
def test_odd_values(fields: dict[str, Any], both: Callable[[Callable[[], Any]], Any]) -> None:
    message = MetadataResponse(**fields)
    for version in (8, 12):
        for style in ("lossless", "kafka", "odd"):
            both(lambda: message.to_json(version, style=style))  # noqa: B023
            for indent in (None, 1, 3, -1):  # for the unusual indent -1, the engine calls `json.dumps`
                both(lambda: message.to_json_text(version, style=style, indent=indent))  # noqa: B023


@native
@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, 1e300, 5e-324, float("inf"), float("-inf"), float("nan"), 3, True])
def test_floats(value: float, both: Callable[[Callable[[], Any]], Any]) -> None:
    message = PollRequest(ratio=value)
    text = both(lambda: message.to_json_text(0))
    both(lambda: PollRequest.from_json_text(text, 0).ratio.hex())
    numbers = ["1", "-0", "-0.0", "1e5", "1E+5", "1.", ".5", "01.5", "1.e5", "-.5", "1e999", "--1.5", "1.5.5", "+1.5"]
    for spelled in [*numbers, "NaN"]:
        changed_text = json.dumps(json.loads(text) | {"ratio": "@"}).replace('"@"', spelled)
        both(lambda: PollRequest.from_json_text(changed_text, 0).ratio.hex())  # noqa: B023


def test_a_float_without_json_is_never_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumped(float("nan"))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ('{"groupId": }', "not JSON: line 1, column 13: Expecting value"),
        ('{"groupId": "g"} x', "not JSON: line 1, column 18: Extra data"),
        (
            '{"groupId": "g", "generationId": 1, "memberId": "m", "groupId": "h"}',
            "the key 'groupId' is repeated in one object",
        ),
        (  # a check with quadratic cost would take minutes
            json.dumps(dict.fromkeys(range(50_000), 0))[:-1] + ', "49999": 0}',
            "the key '49999' is repeated in one object",
        ),
        ('{"groupId": NaN}', "JSON has no NaN"),
        (b'{"groupId": "\xff"}', "byte 13 of the text is 0xff, which is not UTF-8"),
        ("[" * 100_000, "nested more deeply"),
        ("9" * 5000, "more digits than any field"),
        (5, "expected JSON as str or bytes, got int 5"),
    ],
    ids=lambda each: str(each)[:40],
)
def test_strings_that_are_rejected(text: Any, match: str) -> None:
    with pytest.raises(tagwire.EncodeError, match=match) as fault:
        HeartbeatRequest.from_json_text(text, 0)
    assert fault.value.message_name == "HeartbeatRequest" and fault.value.version == 0


@in_use
def test_user_code_that_removes_an_unfinished_dict() -> None:
    """The engine must own the dict that it fills. A sanitizer, or PYTHONMALLOC=debug, finds it if it doesn't."""
    removed = []

    class Removing(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            for found in gc.get_objects():
                if type(found) is list and found and type(found[0]) is dict and found[0].get("groupId") == "marked":
                    removed.append(found)
                    found[0] = None
            return super().__iter__()

    request = JoinGroupRequest(group_id="marked")
    expected = request.to_json(5)
    request.protocols = Removing()
    assert request.to_json(5) == expected and removed
