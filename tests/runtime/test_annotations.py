"""The annotated dump: exact texts, and back to bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_messages import registry
from sample_messages.poll import PollRequest, PollResponse, PollTopic, Rack

from tagwire.annotations import AnnotationError, annotate, parse_annotated
from tagwire.tracer import trace, trace_request, trace_response

MESSAGE = PollRequest(
    topics=[PollTopic(name="ab", partitions=[7], unknown_tags={4: b"q"})],
    urgent=True,
    payload=bytes(range(20)),
    cursor=Rack(label="c"),
    rack=Rack(row=1),
)

WHOLE = """\
# PollRequest v2: 82 bytes
offset  bytes                                            path                       type                          value
     0  02                                               topics                     nullable compact []PollTopic  1
     1  03 61 62                                         topics[0].name             compact string                'ab'
     4  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  topics[0].topic_id         uuid                          00000000-0000-0000-0000-000000000000
    20  02                                               topics[0].partitions       compact []int32               1
    21  00 00 00 07                                      topics[0].partitions[0]    int32                         7
    25  01                                               topics[0]                  tagged fields                 1
    26  04 01                                            topics[0].unknown_tags[4]  tag 4                         1 byte
    28  71                                               topics[0].unknown_tags[4]  raw bytes                     1 byte 71
    29  01                                               urgent                     bool                          True
    30  00 00 00 00 00 00 00 00                          ratio                      float64                       0.0
    38  00 00 01 f4                                      max_wait_ms                int32                         500
    42  00 00 00 00 00 00 00 00                          quota                      int64                         0
    50  15 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e  payload                    nullable compact bytes        20 bytes 000102030405060708090a0b...
    66  0f 10 11 12 13
    71  00                                               snapshot                   nullable compact records      null
    72  01                                               cursor                     nullable Rack                 present
    73  02 63                                            cursor.label               compact string                'c'
    75  ff                                               cursor.row                 int8                          -1
    76  00                                               cursor                     tagged fields                 0
    77  01                                               .                          tagged fields                 1
    78  01 03                                            rack                       tag 1                         3 bytes
    80  01                                               rack.label                 compact string                ''
    81  01                                               rack.row                   int8                          1
    82  00                                               rack                       tagged fields                 0
"""

REQUEST = """\
# PollRequest v0: 28 bytes
offset  bytes                    path                 type         value
# RequestHeader v0
     0  00 07                    request_api_key      int16        7
     2  00 00                    request_api_version  int16        0
     4  00 00 00 05              correlation_id       int32        5
# PollRequest v0
     8  00 00 00 00              topics               []PollTopic  0
    12  00                       urgent               bool         False
    13  00 00 00 00 00 00 00 00  ratio                float64      0.0
    21  23 84                    port                 uint16       9092
    23  00 00 00 00              payload              bytes        0 bytes
     !                           .                    fault        at byte 27: found 1 byte after the message, expected its end
    27  ff                       .                    not read
"""

CUT = """\
# PollResponse v2: 12 bytes
offset  bytes        path            type              value
# ResponseHeader v0
     0  00 00 00 00  correlation_id  int32             0
# PollResponse v2
     4  00 00        error_code      int16             0
     6  03           names           compact []string  2
     7  02 61        names[0]        compact string    'a'
     9  05           names[1]        compact string
     !               names[1]        fault             at byte 10: found 2 bytes left, expected 4 bytes
    10  62 63        .               not read
"""


def test_a_message() -> None:
    text = annotate(trace(PollRequest, MESSAGE.encode(2), 2))
    assert text == WHOLE.replace("82 bytes", "83 bytes")
    assert parse_annotated(text) == MESSAGE.encode(2)


def test_a_request_with_a_byte_too_many() -> None:
    data = registry.encode_request(PollRequest(), 0, correlation_id=5) + b"\xff"
    text = annotate(trace_request(registry, data))
    assert text == REQUEST
    assert parse_annotated(text) == data


def test_a_response_that_is_cut() -> None:
    data = registry.encode_response(PollResponse(names=["a", "bcde"]), 2)[:12]
    text = annotate(trace_response(registry, data, 7, 2))
    assert text == CUT
    assert parse_annotated(text) == data


def test_what_is_not_canonical_says_so() -> None:
    data = PollRequest().encode(2)[:-1] + bytes.fromhex("01 00 01 00")
    text = annotate(trace(PollRequest, data, 2))
    assert text.endswith("# not canonical: writing the value gives other bytes\n")
    assert parse_annotated(text) == data
    lenient = annotate(trace(PollRequest, data + b"zz", 2, strict=False))
    assert lenient.splitlines()[-2].split() == [str(len(data)), "7a", "7a", ".", "not", "read"]
    assert parse_annotated(lenient) == data + b"zz"


def test_nothing_at_all() -> None:
    text = annotate(trace(PollRequest, b"", 2))
    assert text.splitlines()[2].split()[:3] == ["!", "topics", "fault"]
    assert parse_annotated(text) == b""


@given(st.binary(max_size=100), st.integers(0, 3), st.booleans())
def test_the_bytes_come_back(data: bytes, version: int, strict: bool) -> None:
    assert parse_annotated(annotate(trace(PollRequest, data, version, strict=strict))) == data


@given(st.text(max_size=60))
def test_a_value_never_breaks_a_line(name: str) -> None:
    message = PollResponse(names=[name])
    data = message.encode(2)
    text = annotate(trace(PollResponse, data, 2))
    assert len(text.splitlines()) == 6 + (len(data) - 5) // 16 - (len(data) <= 5) or len(data) > 20
    assert parse_annotated(text) == data


def test_golden_files_may_open_with_words() -> None:
    assert parse_annotated("bytes of Kafka's own classes\n\n" + REQUEST)[:4] == bytes.fromhex("00070000")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no line of titles"),
        ("offset  bytes  path\n", "no line of titles"),
        (REQUEST.replace("00 07 ", "00 0g "), "line 4: '00 0g' are no bytes in hex"),
        (REQUEST.replace("00 07 ", "00    "), "line 5: offset '2', but 1 bytes stand above it"),
        (REQUEST.replace("    12  00", "    13  00"), "line 9: offset '13', but 12 bytes stand above it"),
        (REQUEST.replace("     0  00 07", "        00 07"), "line 4: offset '', but 0 bytes stand above it"),
    ],
)
def test_tampering_is_seen(text: str, message: str) -> None:
    with pytest.raises(AnnotationError) as caught:
        parse_annotated(text)
    assert message in str(caught.value)
