from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_messages import registry
from sample_messages.poll import PollRequest, PollResponse, PollTopic, Rack

from tagwire.explain.text import AnnotationError, annotate, parse_annotated
from tagwire.explain.trace import Trace, trace, trace_request, trace_response
from tagwire.interpreter.schema import Field, Schema

TEXTS = Path(__file__).parent / "annotated"
REQUEST = (TEXTS / "request.txt").read_text()

MESSAGE = PollRequest(
    topics=[PollTopic(name="ab", partitions=[7], unknown_tags={4: b"q"})],
    urgent=True,
    payload=bytes(range(20)),
    cursor=Rack(label="c"),
    rack=Rack(row=1),
)


TRUNCATED = registry.encode_response(PollResponse(names=["a", "bcde"]), 2)[:12]
ONE_BYTE_TOO_MANY = registry.encode_request(PollRequest(), 0, correlation_id=5) + b"\xff"


@pytest.mark.parametrize(("seen", "name"), [
    (trace(PollRequest, MESSAGE.encode(2), 2), "message"),
    (trace_request(registry, ONE_BYTE_TOO_MANY), "request"),
    (trace_response(registry, TRUNCATED, 7, 2), "response"),
])  # fmt: skip
def test_texts(seen: Trace, name: str) -> None:
    text = annotate(seen)
    assert text == (TEXTS / f"{name}.txt").read_text()
    assert parse_annotated(text) == seen.data


def test_the_optional_buffer_of_the_draft() -> None:
    foo = Schema(Field("baz", "int16"), optional_fields={1: Field("bar", "string")}, name="Foo")
    agent = Field("user_agent", "string", nullable=True)
    response = Schema(Field("foos", [foo]), optional_fields={1: agent}, name="FooResponse")
    data = response.encode({"user_agent": "ab", "foos": [{"baz": 7}, {"bar": "x", "baz": -1}]})
    text = annotate(trace(response.layout, data))
    assert text == (TEXTS / "draft.txt").read_text()
    assert parse_annotated(text) == data
    cut = annotate(trace(response.layout, data[:-3]))
    assert "    20  78           foos[1].bar" not in cut and parse_annotated(cut) == data[:-3]


def test_non_canonical_bytes_are_marked() -> None:
    data = PollRequest().encode(2)[:-1] + bytes.fromhex("01 00 01 00")
    text = annotate(trace(PollRequest, data, 2))
    assert text.endswith("# not canonical: encoding the value gives other bytes\n")
    assert parse_annotated(text) == data
    lenient = annotate(trace(PollRequest, data + b"zz", 2, strict=False))
    assert lenient.splitlines()[-2].split() == [str(len(data)), "7a", "7a", ".", "not", "read"]
    assert parse_annotated(lenient) == data + b"zz"


def test_empty_input() -> None:
    text = annotate(trace(PollRequest, b"", 2))
    assert text.splitlines()[2].split()[:3] == ["!", "topics", "error"]
    assert parse_annotated(text) == b""


@given(st.binary(max_size=100), st.integers(0, 3), st.booleans())
def test_the_bytes_come_back(data: bytes, version: int, strict: bool) -> None:
    assert parse_annotated(annotate(trace(PollRequest, data, version, strict=strict))) == data


@given(st.text(max_size=12))
def test_a_value_never_breaks_a_line(name: str) -> None:
    data = PollResponse(names=[name]).encode(0)
    text = annotate(trace(PollResponse, data, 0))
    continued = (len(name.encode()) + 2 - 1) // 16
    assert text.count("\n") == len(text.splitlines()) == 5 + continued
    assert parse_annotated(text) == data


def test_golden_file_may_begin_with_prose() -> None:
    assert parse_annotated("bytes of Kafka's own classes\n\n" + REQUEST)[:4] == bytes.fromhex("00070000")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no line with the column titles"),
        ("offset  bytes  path\n", "there is no line with the column titles"),
        (REQUEST.replace("00 07 ", "00 0g "), "line 4: '00 0g' is not hex"),
        (REQUEST.replace("00 07 ", "00    "), "line 5: expected offset 1, the number of bytes above this line"),
        (REQUEST.replace("    12  00", "    13  00"), "line 9: expected offset 12, the number of bytes above"),
        (
            REQUEST.replace("     0  00 07", "        00 07"),
            "line 4: expected offset 0, the number of bytes above this line, got ''",
        ),
    ],
)
def test_changed_annotations_are_rejected(text: str, message: str) -> None:
    with pytest.raises(AnnotationError) as caught:
        parse_annotated(text)
    assert message in str(caught.value)
