"""Check the example bytes in reports of TW913 (a released version's header changed), for specs with their own headers.

The expected bytes are computed by hand from the specs below.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_result
from spec_projects import commit, edit_spec, write_spec

REQUEST, RESPONSE = "message_specs/PingRequest.json", "message_specs/PingResponse.json"
OWN_REQUESTS = [
    {"name": "Magic", "type": "int8", "versions": "0+", "default": "-2"},
    {"name": "RequestApiKey", "type": "int16", "versions": "0+"},
    {"name": "RequestApiVersion", "type": "int16", "versions": "0+"},
    {"name": "Tenant", "type": "int16", "versions": "1+"},
]
OWN_RESPONSES = [{"name": "Node", "type": "uint16", "versions": "1+", "default": "9"}]
NONCE = "0000000000000000"


def add_headers(root: Path, folder: str = "") -> None:
    for name, fields in (("RequestHeader", OWN_REQUESTS), ("ResponseHeader", OWN_RESPONSES)):
        path = write_spec(
            root, name, type="header", apiKey=None, validVersions="0-1", flexibleVersions="none", fields=fields
        )
        path.parent.joinpath(folder).mkdir(exist_ok=True)
        path.rename(path.parent / folder / path.name)


def give_old_header(root: Path, kind: str) -> None:
    """Give version 0 the wrong header: 0 for a request, 1 for a response."""
    old, newest = ("0", "2") if kind == "Request" else ("1", "1")
    head = json.dumps({"0": old, "1+": newest})
    edit_spec(root, f"Ping{kind}", '"fields"', f'"headerVersions": {head}, "fields"')


def proofs(*words: str) -> list[tuple[str, str]]:
    found = json.loads(tagwire_result("breaking", *words, "--output-format", "json").stdout)
    rejections: list[dict[str, Any]] = [each["proof"] for each in found if each["rule"] == "TW913"]
    return [(proof["old"], proof["new"]) for proof in rejections]


def test_set_without_headers_uses_kafkas_headers(project: Path) -> None:
    commit(project)
    give_old_header(project, "Request")
    # The proof's old bytes begin with API key 7, version 0, correlation ID 7 and client ID "a". Its new bytes begin
    # with request header 0, which has no client ID.
    assert proofs("--against", "HEAD") == [
        ("0007 0000 00000007 000161".replace(" ", "") + NONCE, "0007000000000007" + NONCE)
    ]


@pytest.mark.parametrize("folder", ["", "headers"])
def test_proofs_use_the_headers_of_the_set(project: Path, folder: str) -> None:
    add_headers(project, folder)
    with (project / "pyproject.toml").open("a") as settings:
        settings.write('lock = "lock.json"\n')
    tagwire_result("lock", code=0)
    commit(project)
    (project / "old").mkdir()
    for path in (REQUEST, RESPONSE):
        (project / "old" / Path(path).name).write_bytes((project / path).read_bytes())
    assert proofs() == []  # fills the cache
    give_old_header(project, "Request")
    give_old_header(project, "Response")
    # The old and the new request header begin with magic -2, API key 7 and version 0. In the old one, tenant 0 follows.
    request = ("fe" "0007" "0000" "0000" + NONCE, "fe" "0007" "0000" + NONCE)
    # Response header 0 has no fields. Header 1 has one field, `node`, whose value is 9.
    response = (NONCE, "0009" + NONCE)
    for words in ([], [], ["--against", "HEAD"], ["--lock", "lock.json"]):
        assert proofs(*words) == [request, response], words
    for words, expected in (
        (["--against", "HEAD", REQUEST], request),
        (["old/PingRequest.json", REQUEST], request),
        (["--lock", "lock.json", RESPONSE], response),
    ):
        assert proofs(*words) == [expected], words


def test_missing_header_is_not_invented(project: Path) -> None:
    add_headers(project)
    edit_spec(project, "RequestHeader", '"0-1"', '"1"')
    commit(project)
    give_old_header(project, "Request")
    result = tagwire_result("breaking", "--against", "HEAD", "--output-format", "json")
    (found,) = json.loads(result.stdout)
    assert (found["rule"], found["proof"]) == ("TW913", None)


def test_added_or_removed_header_is_used_for_both_sides(project: Path) -> None:
    commit(project)
    add_headers(project)
    give_old_header(project, "Response")
    assert proofs("--against", "HEAD") == [(NONCE, "0009" + NONCE)]
