from pathlib import Path

import pytest
from mock_scripts import BEAT, RULE, actions, answer, faults, play

import tagwire_messages as kafka
from tagwire.testing.peer import Action, Close, Send, Wait
from tagwire_workbench.mocking.script import read_script

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("version", [0, 4])
def test_fields_that_are_missing_are_defaults(tmp_path: Path, version: int) -> None:
    peer = play(tmp_path, RULE + "{body: {errorCode: 27}}")
    assert answer(peer.connect(), BEAT, version) == kafka.HeartbeatResponse(error_code=27)


V4 = bytes.fromhex("0000000c  00000007 00  00000000 0000 00")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("{body: {}, delay: 1.5, split_at: [4]}", [Wait(1.5), Send(V4[:4]), Wait(0.005), Send(V4[4:])]),
        ("{body: {}, cut_at: 9}", [Send(V4[:9]), Close()]),
        ("{body: {}, close: true}", [Send(V4), Close()]),
        ("{body: {}, version: 0}", [Send(bytes.fromhex("00000006 00000007 0000"))]),
        ("{body: {}, header: {correlation_id: 8}}", [Send(V4[:7] + b"\x08" + V4[8:])]),
        ("{body: {}, fields: {error_code: 0x270f}}", [Send(V4[:13] + b"\x27\x0f" + V4[15:])]),
        ("{body: {}, unknown_tags: {5: eA==}}", [Send(b"\0\0\0\x0f" + V4[4:15] + bytes.fromhex("01 05 01 78"))]),
        ("{raw: {$text: oops}}", [Send(b"oops")]),
        ("{raw: {$hex: '00 ff'}}", [Send(b"\0\xff")]),
        ("{raw: AP8=}", [Send(b"\0\xff")]),
        ("{close: true}", [Close()]),
        ("null", []),
    ],
)
def test_faults_of_answers(tmp_path: Path, reply: str, expected: list[Action]) -> None:
    peer = play(tmp_path, RULE + reply)
    assert actions(peer.connect(), BEAT, 4) == expected
    assert peer.problems == []


def test_answers_out_of_order(tmp_path: Path) -> None:
    connection = play(tmp_path, RULE + "[{body: {errorCode: 1}, after: 1}, {body: {errorCode: 2}}]").connect()
    assert actions(connection, BEAT, 0) == []
    assert [each.data[-1] for each in actions(connection, BEAT, 0) if isinstance(each, Send)] == [2, 1]


def test_a_sequence_and_several_rules(tmp_path: Path) -> None:
    text = """
        rules:
          - request: HeartbeatRequest
            reply: [body: {errorCode: 1}, body: {errorCode: 2}]
          - request: HeartbeatRequest
            versions: 3+
            when: {group_id: orders, header.correlation_id: 7}
            reply: {body: {errorCode: 3}}
          - {request: HeartbeatRequest, versions: 0, times: 1, reply: {body: {errorCode: 4}}}
    """
    peer = play(tmp_path, text)
    connection = peer.connect()
    orders = BEAT.replace(group_id="orders")
    requests = [(BEAT, 4), (orders, 4), (orders, 2), (orders, 0), (orders, 0)]
    assert [answer(connection, *each).error_code for each in requests] == [1, 3, 2, 4, 2]


def test_what_is_offered(tmp_path: Path) -> None:
    text = f"offer: {{ApiVersionsRequest: 0-2, HeartbeatRequest: none}}\n{RULE}{{body: {{}}}}"
    assert {key: str(versions) for key, versions in play(tmp_path, text).offered.items()} == {18: "0-2"}


def test_the_example_is_a_script() -> None:
    path = ROOT / "examples" / "kafka_peer.yaml"
    assert len(path.read_text().splitlines()) < 60
    assert read_script(path).peer(kafka.registry).problems == []


NULL = RULE + "null\n    "
FETCH = NULL.replace("Heartbeat", "Fetch")
RANGE = "expected a version range ('none', 'N', 'N+' or 'N-M', numbers from 0 to 32767)"
INT32 = "expected int32 (-2147483648 to 2147483647)"
TAG = "expected a tag (a decimal string, 0 to 2147483647)"
TOKEN = "while scanning for the next token, found character"
ONE = "a script is one YAML document"
MANY = "the script has more than 100000 values"
ALIASES = "the values of an alias count each time the alias is used"
LONG = "the strings of the script have more than 100000000 characters"
LADDER = "a0: &a0 []\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}]\n" for n in range(3000))
LAUGHS = "a: &a [x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [": the file is empty"]),
        ("rules: [", [":1:9: while parsing a flow node, expected the node content, but found '<stream end>'"]),
        ("rules:\n\t- a", [f":2:1: {TOKEN} '\\t' that cannot start any token; indent with spaces, not with tabs"]),
        ("rules: @a", [f":1:8: {TOKEN} '@' that cannot start any token; if this is a string, put it in quotes"]),
        ("a: b: c", [":1:5: mapping values are not allowed here; if the value contains ': ', put it in quotes"]),
        ("a: 1\n---\nb: 1", [f":2:1: expected a single document in the stream, but found another document; {ONE}"]),
        ("{a: 1}\n{b: 1}", [f":2:1: expected '<document start>', but found '{{'; {ONE}"]),
        ("rules: []\nrules: []", [":2:1: the key 'rules' is duplicated"]),
        ("rules: &a [*a]", [":1:8: this alias refers to a value that contains it"]),
        ("rules: " + "[" * 3000, [":1:107: the script has more than 100 levels of nesting"]),
        ("rules: " + "{a: " * 3000, [":1:401: the script has more than 100 levels of nesting"]),
        (LADDER, [":1:5: the script has more than 100 levels of nesting"]),
        ('a: "\\ud800"', [":1:4: '\\ud800' contains half of a surrogate pair"]),
        ('"\\udc00": a', [":1:1: expected a string as the key, got '\\udc00'"]),
        ("? [a]\n: b", [":1:3: expected a string as the key, got a list of 1"]),
        ('a: "\\Uffffffff"', [":1:7: an invalid number"]),
        ("a: !!int abc", [":1:4: expected integer, got 'abc'"]),
        ("a: !!float abc", [":1:4: expected number, got 'abc'"]),
        ("a: !!bool abc", [":1:4: expected true or false, got 'abc'"]),
        ("a: !!null abc", [":1:4: expected null, got 'abc'"]),
        ("a: " + "1" * 5000, [f":1:4: '{'1' * 48}'... (5000 characters) is longer than 1000 characters"]),
        ("a: 0x" + "1" * 5000, [f":1:4: '0x{'1' * 46}'... (5002 characters) is longer than 1000 characters"]),
        ("a: é\n b: \0", [":2:5: the character U+0000 is not allowed; write it as an escape in double quotes"]),
        ("rules: !!set []", [":1:8: the tag tag:yaml.org,2002:set is not supported"]),
        (LAUGHS, [f":1:8: {MANY}; {ALIASES}"]),
        (
            "- &a " + "x" * 10**6 + "\n- *a" * 100,
            [f":1:3: {LONG}; the characters of an alias count each time the alias is used"],
        ),
        ("[]", [":1:1: expected an object, got a list"]),
        ("rule: []", [":1:1: the key 'rules' is missing", ":1:1: unknown key 'rule'; did you mean 'rules'?"]),
        ("rules: [{request: 7}]", [":1:9: the key 'reply' is missing", ":1:19: expected a string, got 7"]),
        ("rules: [{}]", [":1:9: the key 'reply' is missing", ":1:9: the key 'request' is missing"]),
        (RULE + "{cut_at: 3.0}", [":3:21: expected an integer, got 3.0"]),
        (RULE + "{version: 1.0}", [":3:22: expected an integer, got 1.0"]),
        (RULE + "{split_at: [1, 2.0]}", [":3:27: expected an integer, got 2.0"]),
        (NULL + "times: 1.0", [":4:12: expected an integer, got 1.0"]),
        (RULE + "[]", [":3:12: expected an answer, got an empty list"]),
        (RULE + "{dely: 1}", [":3:13: unknown key 'dely'; did you mean 'delay'?"]),
        (RULE + "{delay: -1}", [":3:20: expected 0 or more, got -1"]),
        (RULE + "{close: 1}", [":3:20: expected true or false, got 1"]),
        (RULE + "{unknown_tags: {x: ''}}", [":3:27: expected a tag number, got 'x'"]),
        (RULE + "7", [":3:12: expected an object or null, got 7"]),
        (b"a: \xc3\xa9\nb: \xff\xfe", [":2:4: invalid start byte; save the file as UTF-8"]),
        (b"\xff\xfea\0\n\0b", [":2:1: truncated data; save the file as UTF-8"]),
        pytest.param("[" + "{}," * 100_001, [f":1:300002: {MANY}; {ALIASES}"], marks=pytest.mark.thorough),
    ],
)
def test_files_that_are_not_scripts(tmp_path: Path, text: str | bytes, expected: list[str]) -> None:
    assert faults(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NULL.replace("Heartbeat", "Hartbeat"), ":2:14: tagwire_messages has no message 'HartbeatRequest'; did you"),
        (NULL.replace("Request", "Response"), ":2:14: expected a request's class, name or API key, got 'HeartbeatRes"),
        (NULL + "versions: 3-", f":4:15: {RANGE}, got '3-'"),
        (NULL + "versions: 99", ":4:15: HeartbeatRequest has none of the versions 99; its versions are 0-4"),
        (NULL + "when: {grup_id: g}", ":4:21: grup_id: HeartbeatRequest has no field 'grup_id'; did you mean"),
        (NULL + "when: {group_id.x: g}", ":4:24: group_id.x: group_id has no fields"),
        (NULL + "when: {'group_id[0]': g}", "group_id[0]: group_id is not an array"),
        (NULL + "when: {'group_id[': g}", "expected a path such as topics[0].name, got 'group_id['"),
        (NULL + "when: {header.client: g}", "header.client: RequestHeader has no field 'client'"),
        (NULL + "when: {group_id: {$peer: x}}", ":4:22: $peer: expected 'host' or 'port', got 'x'"),
        (NULL + "when: {group_id: 5}", ":4:22: expected a string, got int 5"),
        (NULL + "when: {header.correlation_id: '5'}", f":4:35: {INT32}, got str '5'"),
        (NULL + "when: {generation_id: null}", ":4:27: is null, but it is not nullable"),
        (FETCH + "when: {'topics[].partitions[].partition': [[0], 1]}", ":4:47: expected a list of the values at"),
        (FETCH + "when: {'topics[].partitions[0].partition': [0, x]}", f":4:48: {INT32}, got str 'x'"),
        (FETCH + "when: {'topics[0].partitions[1]': {partition: x}}", f":4:51: {INT32}, got str 'x'"),
        (FETCH + "when: {'topics[0]': {topik: x}}", ":4:26: FetchTopic has no field 'topik'"),
        (NULL + "keep: {g: group}", ":4:15: group: HeartbeatRequest has no field 'group'"),
        (RULE + "{body: {eror: 1}}", ":3:20: HeartbeatResponse has no field 'eror'; did you mean"),
        (RULE + "{body: {errorCode: much}}", ":3:31: expected int16 (-32768 to 32767), got str 'much'"),
        (RULE + "{body: {errorCode: 40000}}", ":3:31: expected int16 (-32768 to 32767), got int 40000"),
        (RULE + "{body: {x: {$peer: port}}}", ":3:20: HeartbeatResponse has no field 'x'"),
        (RULE + "{header: {correlationId: 1}}", ":3:22: ResponseHeader has no field 'correlationId'; did you mean"),
        (RULE + "{fields: {eror_code: 1}}", ":3:33: "),
        (RULE + "{delay: 1e9}", ":3:20: delay: expected a number of seconds from 0 to 86400, got 1000000000.0"),
        (RULE + "{version: 5}", ":3:22: HeartbeatResponse has no version 5; supported versions are 0-4"),
        (RULE + "{version: 32768}", ":3:22: version: expected a version from 0 to 32767, got 32768"),
        (RULE + "{header: {correlation_id: much}}", f":3:38: {INT32}, got str 'much'"),
        (RULE + "{header: {correlation_id: null}}", ":3:38: is null"),
        (RULE + "{header: {unknown_tags: {x: ''}}}", f":3:36: {TAG}, got str 'x'"),
        (RULE + "{header: {unknown_tags: {5: '?'}}}", ":3:36: expected base64 in the standard alphabet"),
        (RULE + "{header: {unknown_tags: 5}}", ":3:36: expected a JSON object that maps tags to base64 strings, got"),
        (RULE + "{fields: {error_code: much}}", ":3:34: expected int16 (-32768 to 32767), got str 'much'"),
        (RULE + "{fields: {error_code: {x: {$peer: port}}}}", ":3:34: expected int16 (-32768 to 32767), got a dict"),
        (RULE + "{fields: {error_code: null}}", ":3:34: is null"),
        (RULE + "{body: {errorCode: {$text: x}}}", ":3:31: expected int16 (-32768 to 32767), got str 'eA=='"),
        (RULE + "{body: {_unknownTags: {x: ''}}}", f":3:34: {TAG}, got str 'x'"),
        (f"{NULL}keep: {{g: 'group_id[{'1' * 5000}]'}}", "expected a path such as topics[0].name, got 'group_id[1"),
        (RULE + "{raw: {$txt: x}}", ":3:18: unknown special key '$txt'; did you mean '$text'?"),
        (RULE + "{raw: {$text: x, y: z}}", ":3:18: the key 'y' can't be combined with $text"),
        (RULE + "{raw: {$hex: xx}}", ":3:18: expected hex, got 'xx'"),
        (RULE + "{raw: {$kept: it}}", ":3:18: no rule keeps a value named 'it'; there are none"),
        (RULE + "{raw: {$request: x}}", ":3:18: x: HeartbeatRequest has no field 'x'"),
        (RULE + "{raw: {$records: 1}}", ":3:18: $records: expected a list of records, got 1"),
        (RULE + "{raw: {$records: [1]}}", ":3:18: expected a record such as {key: k, value: v}, got 1"),
        (RULE + "{raw: {$records: [{kee: 1}]}}", ":3:18: a record has no key 'kee'; did you mean 'key'?"),
        (RULE + "{raw: {$records: [{offset: x}]}}", ":3:18: offset: expected an integer, got 'x'"),
        (RULE + "{raw: {$records: [{key: {a: 1}}]}}", ":3:18: expected a string, $text or $hex, got an object"),
        (RULE + "{raw: {$records: [{headers: x}]}}", ":3:18: expected headers such as {name: value}, got 'x'"),
        (RULE + "{raw: {$records: [], format: v9}}", ":3:18: "),
        (RULE + "{raw: '?'}", ":3:18: expected bytes in base64, got '?'; "),
        ("offer: {X: 1}\n" + RULE + "null", ":1:12: tagwire_messages has no message 'X'"),
    ],
)
def test_fields_missing_from_messages(tmp_path: Path, text: str, expected: str) -> None:
    (found,) = faults(tmp_path, text)
    assert expected in found


def test_all_errors_at_once(tmp_path: Path) -> None:
    text = RULE + "{body: {eror: 1, x: 2}}\n  - {request: Nothing, reply: null}\noffer: {MetadataRequest: x}"
    assert [line.split(" ")[0] for line in faults(tmp_path, text)] == [":3:20:", ":3:29:", ":4:15:", ":5:26:"]
