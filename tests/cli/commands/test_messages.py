import json

import pytest
from command import rejected, tagwire_result
from command import tagwire_result as run


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
    expected = {"name": "RequestHeader", "kind": "header", "apiKey": None, "component": "clients"}
    assert header == expected | {"versions": "0-2", "flexibleVersions": "2+", "latestStable": 2}


@pytest.mark.parametrize("option", ["--kind", "--component"])
def test_messages_rejects_a_filter_without_matches(option: str) -> None:
    rejected(run("messages", option, "nosuch"), option, "'nosuch'", f"the {option[2:]}s are", code=2)


def test_formats_are_listed_with_the_messages() -> None:
    result = tagwire_result("messages", "--package", "tagwire_drafts.kip82_int", code=0)
    assert "MessageKip82Int" in result.stdout and "ProduceRequest" in result.stdout
    rows = json.loads(tagwire_result("messages", "--json", "--package", "tagwire_records").stdout)
    assert {"name": "MessageV0", "kind": "format", "format": "v0"} in rows
