import base64
import json
from typing import Any

import pytest
from command import rejected, tagwire_result
from command import tagwire_result as run

LEAVE_V0 = "00 01 67 00 01 6d"
LEAVE_JSON = {"groupId": "g", "memberId": "m"}


def test_messages_lists_all_of_them() -> None:
    lines = run("messages").stdout.splitlines()
    assert lines[0].split() == ["name", "kind", "key", "component", "versions", "flexible"]
    assert len(lines) == 1 + 291
    [row] = [line.split() for line in lines if line.startswith("MetadataRequest ")]
    assert row == ["MetadataRequest", "request", "3", "clients", "0-13", "9+"]


@pytest.mark.parametrize(
    ("options", "some", "none"),
    [
        (["--kind", "header"], "RequestHeader", "MetadataRequest"),
        (["--component", "group"], "OffsetCommitValue", "OffsetCommitRequest"),
        (["--kind", "coordinator-key", "--component", "transaction"], "TransactionLogKey", "OffsetCommitKey"),
    ],
)
def test_messages_filters(options: list[str], some: str, none: str) -> None:
    names = [each["name"] for each in json.loads(run("messages", "--json", *options).stdout)]
    assert some in names and none not in names


def test_messages_as_json() -> None:
    [header] = json.loads(run("messages", "--kind", "header", "--component", "clients", "--json").stdout)[:1]
    assert header == {
        "name": "RequestHeader",
        "kind": "header",
        "apiKey": None,
        "component": "clients",
        "versions": "0-2",
        "flexibleVersions": "2+",
        "latestStable": 2,
    }


@pytest.mark.parametrize("option", ["--kind", "--component"])
def test_messages_rejects_a_filter_without_matches(option: str) -> None:
    rejected(run("messages", option, "nosuch"), option, "'nosuch'", "known values", code=2)


def test_show_has_a_row_for_each_field_with_its_versions() -> None:
    text = run("show", "MetadataRequest").stdout
    assert text.splitlines()[:2] == [
        "MetadataRequest: request of clients, API key 3",
        "versions 0-13, flexible 9+, header 1 in 0-8, header 2 in 9+",
    ]
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines()[3:] if line}
    assert rows["topics"] == ["[]MetadataRequestTopic", "0+", "1+", "[]"]
    assert rows["topic_id"] == ["uuid", "10+", '"AAAAAAAAAAAAAAAAAAAAAA"', "ignorable"]
    assert "\n  topic_id " in text, "fields of a struct are indented"


def test_show_has_tags() -> None:
    lines = run("show", "ApiVersionsResponse").stdout.splitlines()[3:]
    rows = {line.split()[0]: line.split()[1:] for line in lines if line}
    assert rows["finalized_features_epoch"] == ["int64", "3+", "1", "-1", "ignorable"]


def test_show_version_is_in_wire_order() -> None:
    lines = run("show", "ApiVersionsResponse", "--version", "3").stdout.splitlines()
    assert lines[0] == "ApiVersionsResponse v3: at least 8 bytes"
    names = [line.split("  ")[0].strip() or line.strip().split("  ")[0] for line in lines[3:]]
    assert names[:7] == [
        "error_code",
        "api_keys",
        "api_key",
        "min_version",
        "max_version",
        "(tagged fields)",
        "throttle_time_ms",
    ]
    assert any(line.split() == ["finalized_features_epoch", "int64", "1", "-1"] for line in lines)


def test_show_version_lists_missing_fields() -> None:
    text = run("show", "MetadataRequest", "--version", "0").stdout
    assert text.splitlines()[-1].startswith("Not in this version: allow_auto_topic_creation, ")


def test_show_as_json() -> None:
    shown = json.loads(run("show", "MetadataRequest", "--json").stdout)
    assert shown["headerVersions"] == [{"versions": "0-8", "header": 1}, {"versions": "9+", "header": 2}]
    [topics] = [field for field in shown["fields"] if field["name"] == "topics"]
    assert (topics["nullableVersions"], topics["default"], topics["tag"]) == ("1+", [], None)
    assert [field["name"] for field in topics["fields"]] == ["topic_id", "name"]
    assert "recordFormats" not in topics
    assert '"recordFormats": {"0-1": "v0", "2": "v1", "3+": "v2"}' in json.dumps(
        json.loads(run("show", "ProduceRequest", "--json").stdout)
    )


def test_show_has_the_history_of_each_version() -> None:
    lines = run("show", "ListOffsetRequest").stdout.splitlines()
    assert lines[0] == "ListOffsetsRequest: request of clients, API key 2", "found by its older name"
    history = [line.split(maxsplit=1) for line in lines[lines.index("version  releases        change") + 1 :]]
    assert [version for version, _ in history] == [str(version) for version in range(12)]
    assert history[0][1] == "2.4.1 to 3.9.2"
    assert history[4][1] == "2.4.1 to 4.4.0  adds topics.partitions.current_leader_epoch"
    assert history[6][1] == "2.8.2 to 4.4.0  flexible"
    nullable = [line.split(maxsplit=4)[4:] for line in run("show", "MetadataRequest").stdout.splitlines()[-14:]]
    assert (nullable[1], nullable[9]) == (["allows null in topics"], ["flexible"])
    redefined = run("show", "ConfigRecord").stdout.splitlines()[-1].split(maxsplit=1)
    assert redefined == ["0", "2.8.2, redefined 3.0.2 to 4.4.0"]


def test_show_has_no_releases_for_packages_without_releases() -> None:
    lines = run("show", "FooResponse", "--package", "tagwire_drafts.kip482").stdout.splitlines()
    assert "version  change" in lines
    assert lines[-1].split(maxsplit=1) == ["9", "optional fields; adds foos.bar, user_agent"]


def test_show_history_as_json() -> None:
    shown = json.loads(run("show", "ConfigRecord", "--json").stdout)
    assert shown["history"] == [{"version": 0, "releases": [["2.8.2", "2.8.2"], ["3.0.2", "4.4.0"]], "change": ""}]


def test_show_version_as_json() -> None:
    shown = json.loads(run("show", "MetadataRequest", "--version", "12", "--json").stdout)
    assert (shown["version"], shown["minimumSize"], shown["section"]) == (12, 4, "TaggedSection")
    [topics, *_] = shown["items"]
    assert topics["type"] == "nullable compact []MetadataRequestTopic"
    assert [item["type"] for item in topics["struct"]["items"]] == ["uuid", "nullable compact string"]
    assert {"name": "include_cluster_authorized_operations", "ignorable": False} in shown["missing"]


def test_show_puts_the_optional_fields_of_the_draft_first() -> None:
    lines = run("show", "FooResponse", "--version", "9", "--package", "tagwire_drafts.kip482").stdout.splitlines()
    assert lines[3].split() == ["(optional", "fields)", "varint", "lengths"]
    assert lines[4].split()[0] == "user_agent"


def test_show_lists_the_bits_and_conditions_of_a_record_format() -> None:
    words = ("show", "MessageKip82Int", "--package", "tagwire_drafts.kip82_int")
    rows = [line.split(maxsplit=1) for line in run(*words).stdout.splitlines()]
    assert ["compression", "bits 0-2: none, gzip, snappy, lz4"] in rows and ["has_headers", "bit 4"] in rows
    [headers] = [row[1] for row in rows if row[:1] == ["headers"]]
    assert headers.split("  ")[0] == "[]Header, only if attributes.has_headers is 1"
    items = {item["name"]: item for item in json.loads(run(*words, "--json").stdout)["items"]}
    assert items["headers"]["condition"] == {"field": "attributes", "mask": 16, "equals": 16}
    assert {"name": "has_headers", "mask": 16, "values": []} in items["attributes"]["bits"]


def test_decode_hex() -> None:
    result = run("decode", "LeaveGroupRequest", "0", "--hex", stdin=LEAVE_V0)
    assert (result.exit_code, json.loads(result.stdout), result.stderr) == (0, LEAVE_JSON, "")


@pytest.mark.parametrize("text", ["0001 6700\n016d\n", "\t00\r\n01 67 0 0 01 6D", "00016700016d"])
def test_white_space_in_hex_does_not_count(text: str) -> None:
    assert json.loads(run("decode", "LeaveGroupRequest", "0", "--hex", stdin=text).stdout) == LEAVE_JSON


def test_encode_hex_and_bytes() -> None:
    text = json.dumps(LEAVE_JSON)
    assert run("encode", "LeaveGroupRequest", "0", "--hex", stdin=text).stdout == "00016700016d\n"
    assert run("encode", "LeaveGroupRequest", "0", stdin=text).stdout_bytes == bytes.fromhex(LEAVE_V0)


def test_decode_output_is_encode_input() -> None:
    records = bytes(range(256))
    value: dict[str, Any] = {
        "transactionalId": None,
        "acks": -1,
        "timeoutMs": 100,
        "topicData": [
            {
                "name": "tøpic",
                "partitionData": [{"index": 7, "records": base64.b64encode(records).decode()}],
                "_unknownTags": {"99": "AQI="},
            }
        ],
    }
    encoded = run("encode", "ProduceRequest", "9", stdin=json.dumps(value)).stdout_bytes
    assert records in encoded
    decoded = run("decode", "ProduceRequest", "9", stdin=encoded)
    assert json.loads(decoded.stdout) == value
    assert "tøpic" in decoded.stdout, "readable, not escaped"
    assert run("encode", "ProduceRequest", "9", stdin=decoded.stdout).stdout_bytes == encoded


def test_style_kafka_has_no_records() -> None:
    topics = [{"name": "t", "partitionData": [{"index": 0, "records": "AAAA"}]}]
    value = {"transactionalId": None, "acks": 1, "timeoutMs": 1, "topicData": topics}
    encoded = run("encode", "ProduceRequest", "9", stdin=json.dumps(value)).stdout_bytes
    shown = json.loads(run("decode", "ProduceRequest", "9", "--style", "kafka", stdin=encoded).stdout)
    assert shown["topicData"] == [{"name": "t", "partitionData": [{"index": 0, "records": ""}]}]


BAD_BYTES = [
    ("00 01 67 00 01", "member_id at byte 5: found 0 bytes left, expected 1 byte"),
    ("00 01 67 00 01 6d 33", "byte 6: found 1 byte after the message, expected the end of the data"),
    ("ff ff 00 01 6d", "group_id at byte 0: found null"),
    ("00 01 ff 00 01 6d", "group_id at byte 2: found bytes ff, expected UTF-8"),
]


@pytest.mark.parametrize(("text", "words"), BAD_BYTES)
def test_decode_reports_field_offset_found_and_expected(text: str, words: str) -> None:
    result = run("decode", "LeaveGroupRequest", "0", "--hex", "--limit", "bytes=9", "--limit", "depth=3", stdin=text)
    again = "`tagwire explain LeaveGroupRequest 0 --hex --limit bytes=9 --limit depth=3`"
    rejected(result, "LeaveGroupRequest v0", words, again, code=1)


def test_lenient_accepts_what_strict_rejects() -> None:
    text = f"{LEAVE_V0} 33"
    assert run("decode", "LeaveGroupRequest", "0", "--hex", stdin=text).exit_code == 1
    lenient = run("decode", "LeaveGroupRequest", "0", "--hex", "--lenient", stdin=text)
    assert (lenient.exit_code, json.loads(lenient.stdout)) == (0, LEAVE_JSON)


def test_limits_are_honoured() -> None:
    ten_topics = "0000000a" + 10 * "000174"
    assert run("decode", "MetadataRequest", "0", "--hex", "--limit", "elements=10", stdin=ten_topics).exit_code == 0
    result = run("decode", "MetadataRequest", "0", "--hex", "--limit", "elements=9", stdin=ten_topics)
    rejected(result, "topics at byte 4", "Limits.elements", code=1)


@pytest.mark.parametrize("limit", ["elements", "elements=many", "element=3", "elements=-1", "=1"])
def test_invalid_limit(limit: str) -> None:
    rejected(run("decode", "MetadataRequest", "0", "--limit", limit), "--limit", "elements", code=2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("00 01 6", "line 1, column 7: odd number of hex digits (5)"),
        ("00 01\n0x67\n", "line 2, column 2: 'x' is not a hex digit"),
        ("00 01\n\n  6", "line 3, column 3: odd number of hex digits (5)"),
        (b"00 \xa0 01", "line 1, column 4: byte 0xa0 is not a hex digit"),
        ("0001é", "line 1, column 5: byte 0xc3 is not a hex digit"),
    ],
)
def test_bad_hex_is_reported_with_its_place(text: str | bytes, words: str) -> None:
    rejected(run("decode", "LeaveGroupRequest", "0", "--hex", stdin=text), "hex input", words, code=1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty; give a JSON object"),
        ('{"groupId": "g",\n "memberId" "m"}', "line 2, column 13"),
        ('{"groupId": "g", "groupId": "h"}', "duplicate key 'groupId' in an object"),
        ('{"groupId": NaN}', 'NaN is not valid JSON; write it as the string "NaN"'),
        (b'{"groupId": "\xff"}', "byte 0xff at offset 13 is not valid UTF-8"),
        ("[" * 200_000, "nested too deeply; no message has that many levels"),
        (f'{{"groupId": {"9" * 10_000}}}', "a number has more digits than any field can hold"),
    ],
)
def test_bad_json_is_reported_with_its_place(text: str | bytes, words: str) -> None:
    rejected(run("encode", "LeaveGroupRequest", "0", "--hex", stdin=text), "JSON input", words, code=1)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "expected a JSON object"),
        ({"groupId": "g"}, "the key 'memberId' is missing"),
        ({**LEAVE_JSON, "memberIds": "m"}, "no field 'memberIds'; did you mean 'memberId'?"),
        ({"groupId": 7, "memberId": "m"}, "group_id: expected a string, got int 7"),
        ({"groupId": "g", "memberId": None}, "member_id: is null"),
        ({**LEAVE_JSON, "members": [{"memberId": "x", "groupInstanceId": None}]}, "members: "),
        ({"groupId": "\ud800", "memberId": "m"}, "group_id"),
    ],
)
def test_encode_rejects_values_that_the_version_can_not_represent(value: Any, words: str) -> None:
    result = run("encode", "LeaveGroupRequest", "0", "--hex", stdin=json.dumps(value))
    rejected(result, "LeaveGroupRequest v0", words, code=1)


@pytest.mark.parametrize("words", [["show"], ["encode", "0"], ["decode", "0"], ["explain", "0"]])
def test_an_unknown_message_is_wrong_usage_with_near_names(words: list[str]) -> None:
    command, *rest = words
    result = run(command, "LeaveGroupRequst", *rest)
    rejected(result, "MESSAGE", "there is no message 'LeaveGroupRequst'; did you mean 'LeaveGroupRequest'", code=2)


def test_name_without_near_names_leads_to_the_list() -> None:
    rejected(run("show", "Zzz"), "`tagwire messages` lists all messages", code=2)


@pytest.mark.parametrize(
    "words",
    [
        ["show", "LeaveGroupRequest", "--version", "99"],
        ["encode", "LeaveGroupRequest", "99"],
        ["decode", "LeaveGroupRequest", "99"],
        ["explain", "LeaveGroupRequest", "99"],
    ],
)
def test_version_that_does_not_exist_is_wrong_usage(words: list[str]) -> None:
    rejected(run(*words), "LeaveGroupRequest has no version 99; supported versions are 0-5", code=2)


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("nosuch_package", "can't be imported"),
        ("tagwire_messages.nosuch", "can't be imported"),
        ("json", "is not a generated package"),
    ],
)
def test_a_package_must_be_a_generated_one(package: str, words: str) -> None:
    rejected(run("messages", "--package", package), "--package", repr(package), words, code=2)


def test_package_chooses_another_protocol() -> None:
    result = run("encode", "FooResponse", "9", "--hex", "--package", "tagwire_drafts.kip482", stdin='{"foos": []}')
    assert (result.exit_code, result.stdout) == (0, "0000000000\n")


def test_formats_are_listed_with_the_messages() -> None:
    result = tagwire_result("messages", "--package", "tagwire_drafts.kip82_int", code=0)
    assert "MessageKip82Int" in result.stdout and "ProduceRequest" in result.stdout
    rows = json.loads(tagwire_result("messages", "--json", "--package", "tagwire_records").stdout)
    assert {"name": "MessageV0", "kind": "format", "format": "v0"} in rows
