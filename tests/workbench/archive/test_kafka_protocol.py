from typing import Any

import pytest

from tagwire_workbench.archive.kafka_protocol import with_protocol_rules

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(
    ("name", "valid", "flexible", "expected"),
    [
        ("MetadataRequest", "0-12", "9+", {"0-8": "1", "9+": "2"}),
        ("MetadataResponse", "0-12", "9+", {"0-8": "0", "9+": "1"}),
        ("FooRequest", "2-4", "0+", {"0+": "2"}),
        ("FooResponse", "2-4", "none", {"0+": "0"}),
        ("FooRequest", "0-2", "4+", {"0+": "1"}),
        ("ControlledShutdownRequest", "0-3", "3+", {"0": "0", "1-2": "1", "3+": "2"}),
        ("ControlledShutdownRequest", "0", "none", {"0+": "0"}),
        ("ControlledShutdownRequest", "0-3", "0+", {"0+": "2"}),
        ("ControlledShutdownResponse", "0-3", "3+", {"0-2": "0", "3+": "1"}),
        ("ApiVersionsRequest", "0-4", "3+", {"0-2": "1", "3+": "2"}),
        ("ApiVersionsResponse", "0-4", "3+", {"0+": "0"}),
    ],
)
def test_each_version_gets_its_header(name: str, valid: str, flexible: str, expected: dict[str, str]) -> None:
    kind = "request" if name.endswith("Request") else "response"
    facts = {"type": kind, "name": name, "validVersions": valid, "flexibleVersions": flexible, "fields": []}
    assert with_protocol_rules(facts)["headerVersions"] == expected


@pytest.mark.parametrize("kind", ["data", "header", "metadata", "coordinator-key"])
def test_nothing_else_has_a_header(kind: str) -> None:
    facts = {"type": kind, "name": "Foo", "validVersions": "0", "flexibleVersions": "0+", "fields": []}
    assert with_protocol_rules(facts) == facts


ERROR_CODE = {"name": "ErrorCode", "type": "int16", "versions": "0+"}


@pytest.mark.parametrize(
    ("changes", "falls_back"),
    [({}, True), ({"name": "FooResponse"}, False), ({"validVersions": "1-4"}, False), ({"fields": []}, False)],
)
def test_api_versions_falls_back_to_version_0(changes: dict[str, Any], falls_back: bool) -> None:
    facts = {"apiKey": 18, "type": "response", "name": "ApiVersionsResponse", "validVersions": "0-4"}
    result = with_protocol_rules({**facts, "flexibleVersions": "3+", "fields": [ERROR_CODE], **changes})
    assert result.get("fallback") == ({"version": 0, "errorCode": 35} if falls_back else None)


@pytest.mark.parametrize(
    ("name", "kind", "versions", "expected"),
    [
        ("ProduceRequest", "request", "0-13", {"0-1": "v0", "2": "v1", "3+": "v2"}),
        ("ProduceRequest", "request", "0-1", {"0+": "v0"}),
        ("FetchResponse", "response", "0-18", {"0-1": "v0", "2-3": "v1", "4+": "v2"}),
        ("ShareFetchResponse", "response", "0-2", {"0+": "v2"}),
        ("FetchSnapshotResponse", "response", "0-2", None),
    ],
)
@pytest.mark.parametrize("type", ["records", "bytes"])
def test_the_format_of_records(name: str, kind: str, versions: str, expected: dict[str, str] | None, type: str) -> None:
    records = {"name": "Records", "type": type, "versions": "0+"}
    others = [{"name": "Records", "type": "int32", "versions": "0+"}, {"name": "Data", "type": type, "versions": "0+"}]
    topics = {"name": "Topics", "type": "[]Topic", "versions": "0+", "fields": [records, *others]}
    facts = {"type": kind, "name": name, "validVersions": versions, "flexibleVersions": "none", "fields": [topics]}
    [found] = with_protocol_rules(facts)["fields"]
    assert found["fields"][1:] == others
    assert found["fields"][0].get("recordFormats") == expected


def test_explicit_values_of_a_release_win() -> None:
    facts = {"apiKey": 3, "type": "request", "name": "Foo", "validVersions": "0", "fields": []}
    assert with_protocol_rules({**facts, "headerVersions": {"0+": "2"}})["headerVersions"] == {"0+": "2"}
