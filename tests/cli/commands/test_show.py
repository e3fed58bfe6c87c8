import json

import pytest
from command import tagwire_result as run


@pytest.mark.parametrize(
    "words", [("show", "MessageV1", "--version", "0"), ("diff", "MessageV1", "0", "1"), ("decode", "MessageV1", "0")]
)
def test_commands_about_versions_reject_record_formats(words: tuple[str, ...]) -> None:
    assert "is a record format" in run(*words, "--package", "tagwire_records", code=2).stderr


def test_a_format_is_shown_as_it_is_on_the_wire() -> None:
    result = run("show", "MessageV1", "--package", "tagwire_records", code=0)
    assert result.stdout.startswith("MessageV1: record format v1, at least 34 bytes")
    assert [line.split()[0] for line in result.stdout.splitlines()[3:]][-2:] == ["key", "value"]
    facts = json.loads(run("show", "MessageV1", "--json", "--package", "tagwire_records").stdout)
    assert facts["format"] == "v1" and facts["items"][0]["name"] == "offset"


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
    inner = ["api_key", "min_version", "max_version", "(tagged fields)"]
    assert names[:7] == ["error_code", "api_keys", *inner, "throttle_time_ms"]
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
    produce = json.loads(run("show", "ProduceRequest", "--json").stdout)
    assert '"recordFormats": {"0-1": "v0", "2": "v1", "3+": "v2"}' in json.dumps(produce)


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
