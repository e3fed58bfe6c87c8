"""Check golden bytes and whole frames of Kafka's RPCs in the new version that KIP-482's first draft adds.

The bytes come from the independent encoder, because nobody has implemented the draft.
"""

from pathlib import Path
from typing import Any

import pytest
from golden_files import RPC_DRAFTS, read_file
from test_golden_bytes import check

import tagwire
from tagwire_drafts import kip482_rpcs
from tagwire_drafts.kip482_rpcs import registry
from tagwire_generator.model.spec_names import snake_case

NAMES = registry.names()
HEADERS = ("RequestHeader", "ResponseHeader")


def file_of(name: str) -> Path:
    return RPC_DRAFTS / f"{snake_case(name)}.txt"


def test_every_message_has_a_file_and_every_file_a_message() -> None:
    assert {path.name for path in RPC_DRAFTS.glob("*.txt")} == {file_of(name).name for name in NAMES}
    assert len(NAMES) == 98


@pytest.mark.parametrize("name", NAMES)
def test_golden_bytes(name: str) -> None:
    cls = registry[name]
    full, bare = "every field set", "nothing set"
    what = full if name in HEADERS else f"{full}, and an unknown optional one in each struct"
    goldens = list(read_file(file_of(name)))
    assert [(golden.version, golden.source) for golden in goldens] == [
        (version, f"the independent encoder, {each}") for version in cls.VERSIONS for each in (what, bare)
    ]
    for golden in goldens:
        check(cls, golden)
        has_tags = "_unknownTags" in golden.value
        assert has_tags == (what != full and not golden.source.endswith(bare))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in HEADERS])
def test_each_draft_has_only_its_new_version(name: str) -> None:
    cls = registry[name]
    assert len(cls.VERSIONS) == 1
    assert cls.OPTIONAL_FIELDS is not None and cls.OPTIONAL_FIELDS.versions.lowest == cls.LATEST_STABLE
    assert not cls.FLEXIBLE_VERSIONS
    assert cls.header_version(cls.LATEST_STABLE) == (1 if cls.KIND == "request" else 0)


def full(cls: type[tagwire.Message]) -> Any:
    golden = next(read_file(file_of(cls.NAME)))
    return cls.from_json(golden.value, golden.version)


@pytest.mark.parametrize("api", list(kip482_rpcs.ApiKey), ids=lambda api: api.name)
def test_frames(api: int) -> None:
    request, response = full(registry.request(api)), full(registry.response(api))
    [version] = request.VERSIONS
    assert response.VERSIONS == request.VERSIONS
    data = registry.encode_request(request, version, correlation_id=7, client_id="me")
    # The draft leaves request header 1 unchanged.
    header = api.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes.fromhex("00000007 0002 6d65")
    assert data == header + request.encode(version)
    frame = registry.decode_request(data)
    assert (frame.message, frame.version, frame.header.client_id) == (request, version, "me")
    answer = registry.encode_response(response, version, correlation_id=7)
    assert answer == bytes.fromhex("00000007") + response.encode(version)
    assert registry.decode_response(answer, api, version).message == response
    for size in range(len(data)):
        with pytest.raises(tagwire.DecodeError):
            registry.decode_request(data[:size])
