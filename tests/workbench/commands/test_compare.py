import gzip
import json
from functools import partial
from math import nan
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from build_package import build_package
from command import tagwire_outcome
from network_packets import jsonl

import tagwire_cli
import tagwire_messages as kafka
from tagwire_messages.metadata_request import MetadataRequestTopic

SCHEMA = json.loads((Path(tagwire_cli.__file__).parent / "json_schemas" / "compare.json").read_text())
CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"


def line(message: Any, version: int) -> dict[str, Any]:
    is_request = message.KIND == "request"
    encode: Any = kafka.registry.encode_request if is_request else kafka.registry.encode_response
    row = {"dir": "req" if is_request else "resp", "api_key": message.API_KEY, "api_version": version}
    return {**row, "hex": encode(message, version).hex()}


def topics(*names: str) -> Any:
    return kafka.MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])


FETCH = kafka.FetchRequest(max_wait_ms=500, isolation_level=1)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    beat = line(kafka.HeartbeatResponse(error_code=27), 4)
    a = jsonl(tmp_path / "a", line(topics("x", "y"), 12), line(topics("x"), 11), line(FETCH, 12), beat)
    b = jsonl(
        tmp_path / "b",
        line(topics("x", "z"), 12),
        line(FETCH.replace(isolation_level=0, rack_id="r"), 12),
        {"dir": "req", "api_key": 999, "api_version": 0, "hex": "03e70000"},
        {"dir": "resp", "hex": "00"},
    )
    return [str(a), str(b)]


run = partial(tagwire_outcome, "compare")


def test_as_text(files: list[str]) -> None:
    code, out, err = run(*files)
    assert (code, out) == (
        0,
        """\
message            versions in A   versions in B
FetchRequest       12 (1)          12 (1)
HeartbeatResponse  4 (1)           -
MetadataRequest    11 (1), 12 (1)  12 (1)

fields that one uses          used in A  used in B
FetchRequest.isolation_level          1          -
FetchRequest.rack_id                  -          1

values                                               only in A  only in B  in neither
FetchRequest.isolation_level                         1          0          -
FetchRequest.rack_id                                 ''         'r'        -
MetadataRequest.topics[].name                        'y'        'z'        -
MetadataRequest.allow_auto_topic_creation            -          -          False
MetadataRequest.include_topic_authorized_operations  -          -          True
""",
    )
    assert err.splitlines() == [
        f"{files[1]}: 1 frame can't be read: request of API 999",
        f"{files[1]}: 1 frame can't be read: response without a captured request",
    ]


def test_as_json(files: list[str]) -> None:
    code, out, _ = run(*files, "--json")
    found = json.loads(out)
    jsonschema.validate(found, SCHEMA)
    assert code == 0
    assert (found["a"]["frames"], found["a"]["unreadable"]) == (4, {})
    assert (found["b"]["frames"], found["b"]["unreadable"]) == (
        4,
        {"request of API 999": 1, "response without a captured request": 1},
    )
    metadata = found["messages"][2]
    assert (metadata["versionsInA"], metadata["versionsInB"]) == ({"11": 1, "12": 1}, {"12": 1})
    by_path = {each["path"]: each for each in metadata["fields"]}
    assert by_path["topics"] == {"path": "topics", "usedInA": 2, "usedInB": 1, "values": None}
    assert by_path["topics[].name"]["values"] == {"onlyA": ["'y'"], "onlyB": ["'z'"], "never": []}
    assert "topics[].topic_id" in by_path and found["messages"][1]["fields"] == []


def test_many_values_are_not_compared(tmp_path: Path) -> None:
    many = jsonl(tmp_path / "a", line(topics(*map(str, range(17))), 12))
    few = jsonl(tmp_path / "b", line(topics("x"), 12))
    assert "topics[].name" not in run(str(many), str(few))[1]


def spec(kind: str, name: str, *rows: dict[str, Any], **keys: Any) -> dict[str, Any]:
    fields = [{"type": "int16", "versions": "0+", **row} for row in rows]
    return {"type": kind, "name": name, "validVersions": "0-1", "flexibleVersions": "none", "fields": fields} | keys


SECRET = {"type": "string", "sensitive": True}
KEYS = {"name": "Keys", "type": "[][]Key", "fields": [{"name": "Part", "type": "string", "versions": "0+"}]}
ROWS = SECRET | {"name": "Password"}, SECRET | KEYS, {"name": "Share", "type": "float64"}
LOGIN = [
    spec("header", "RequestHeader", {"name": "RequestApiKey"}, {"name": "RequestApiVersion"}),
    spec("header", "ResponseHeader", {"name": "Number"}),
    spec("request", "LoginRequest", *ROWS, apiKey=4, dialect="tagwire"),
]


def test_secrets(tmp_path: Path, own_modules: None) -> None:
    login: Any = build_package(tmp_path, "login", LOGIN)
    files = []
    for password in ("secret", "other"):
        keys = [[login.login_request.Key(part=password)]]
        data = login.registry.encode_request(login.LoginRequest(password=password, keys=keys, share=nan), 0)
        row = {"dir": "req", "api_key": 4, "api_version": 0, "hex": data.hex()}
        files.append(str(jsonl(tmp_path / password, row)))
    words = (*files, "--package", "login")
    assert "'secret'" not in run(*words)[1]
    shown = run(*words, "--show-sensitive")[1]
    assert "LoginRequest.password       'secret'   'other'" in shown and "share" not in shown
    assert "LoginRequest.keys[][].part  'secret'   'other'" in shown


@pytest.mark.thorough
def test_a_capture_and_itself() -> None:
    code, out, err = run(str(CAPTURES), str(CAPTURES), "--json")
    found = json.loads(out)
    jsonschema.validate(found, SCHEMA)
    assert code == 0 and len(err.splitlines()) == 2
    assert found["a"] == found["b"] and found["a"]["frames"] == 6777
    for message in found["messages"]:
        assert message["versionsInA"] == message["versionsInB"]
        for field in message["fields"]:
            assert field["usedInA"] == field["usedInB"]
            assert field["values"] is None or not (field["values"]["onlyA"] or field["values"]["onlyB"])


def test_field_missing_from_one_capture_counts_as_its_default(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in gzip.decompress(CAPTURES.read_bytes()).splitlines()]
    old, new = (
        str(jsonl(tmp_path / run, *(row for row in rows if row["run"].startswith(run)))) for run in ("kb0.9", "k44")
    )
    found = json.loads(run(old, new, "--json")[1])
    jsonschema.validate(found, SCHEMA)
    metadata = next(each for each in found["messages"] if each["message"] == "MetadataRequest")
    by_path = {each["path"]: each["values"] for each in metadata["fields"]}
    assert by_path["include_topic_authorized_operations"] == {"onlyA": [], "onlyB": ["True"], "never": []}
    assert by_path["allow_auto_topic_creation"]["onlyB"] == ["False"]
