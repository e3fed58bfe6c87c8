import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from build_package import build_package
from parcel_specs import PARCEL

import tagwire_drafts.kip482
import tagwire_messages as kafka
from tagwire import UnsupportedVersionError
from tagwire.records import read_batches
from tagwire_workbench.fuzzing.corpus import SHAPES, dictionary_of, dictionary_text, seeds

REGISTRIES = (kafka.registry, tagwire_drafts.kip482.registry)
ALL = [(registry[name], version) for registry in REGISTRIES for name in registry for version in registry[name].VERSIONS]


def test_every_version_has_distinct_valid_seeds() -> None:
    for cls, version in ALL:
        seeds_by_shape = dict(seeds(cls, version))
        assert seeds_by_shape and set(seeds_by_shape) <= set(SHAPES)
        encoded = [message.encode(version) for message in seeds_by_shape.values()]
        assert len(set(encoded)) == len(encoded)
        assert [cls.decode(data, version).encode(version) for data in encoded] == encoded


def test_shapes_of_heartbeat_request_v4() -> None:
    """The fields are a compact string, an int32, two compact strings (the last one nullable), and tagged fields."""
    seeds_by_shape = {name: message.encode(4).hex(" ") for name, message in seeds(kafka.HeartbeatRequest, 4)}
    assert seeds_by_shape == {
        "empty": "02 61 00 00 00 01 02 61 02 61 00",
        "null": "02 61 00 00 00 01 02 61 00 00",
        "high": "01 7f ff ff ff 01 01 00",
        "low": "01 80 00 00 00 01 01 00",
        "long": " ".join(["81 01" + " 61" * 128, "00 00 00 01", "81 01" + " 61" * 128, "81 01" + " 61" * 128, "00"]),
        "tagged": "02 61 00 00 00 01 02 61 02 61 01 ff 7f 01 01",
    }


def test_arrays_have_none_one_and_three_elements() -> None:
    seeds_by_shape: Mapping[str, Any] = dict(seeds(kafka.MetadataResponse, 12))
    assert [len(seeds_by_shape[name].brokers) for name in ("empty", "full", "many")] == [0, 1, 3]
    assert [len(topic.partitions) for topic in seeds_by_shape["many"].topics] == [3, 3, 3]
    assert seeds_by_shape["null"].cluster_id is None
    assert seeds_by_shape["tagged"].topics[0].unknown_tags


@pytest.mark.parametrize("version", [0, 2, 11])
def test_record_seeds_have_the_format_of_the_version(version: int) -> None:
    seeds_by_shape: Mapping[str, Any] = dict(seeds(kafka.FetchResponse, version))
    batch, *more = read_batches(seeds_by_shape["full"].responses[0].partitions[0].records)
    assert (batch.format, more) == ({0: "v0", 2: "v1", 11: "v2"}[version], [])


def test_unknown_version() -> None:
    with pytest.raises(UnsupportedVersionError):
        list(seeds(kafka.HeartbeatRequest, 99))


def test_a_dictionary() -> None:
    messages = [kafka.ApiVersionsRequest, kafka.ApiVersionsResponse]
    tokens = dictionary_of(messages, keys=[(kafka.ApiVersionsRequest, 3)])
    assert tokens["ApiVersionsRequest_v3"] == bytes.fromhex("0012 0003")
    assert tokens["tag_2"] == b"\x02"
    assert tokens["int64_1"] == bytes.fromhex("7fffffffffffffff")
    assert tokens["varint_highest"] == bytes.fromhex("ffffffff0f")
    assert len(set(tokens.values())) == len(tokens)
    assert [name for name in tokens if name.startswith("ApiVersions")] == ["ApiVersionsRequest_v3"]
    assert "ApiVersionsRequest_v3" not in dictionary_of(messages)


LINE = re.compile(r'\w+="((?:[^"\\]|\\x[0-9a-f]{2})+)"')


def test_dictionaries_follow_the_syntax_of_afl() -> None:
    """In AFL++'s syntax, a line has a name and quoted bytes, with two hex digits per escape and at most 128 bytes."""
    keys = [(kafka.registry.request(key), version) for key in kafka.ApiKey for version in (0, 1)]
    tokens = dictionary_of(map(kafka.registry.__getitem__, kafka.registry), keys=keys)
    lines = dictionary_text(tokens).splitlines()
    assert len(lines) == len(tokens) > 100
    for line, token in zip(lines, tokens.values(), strict=True):
        found = LINE.fullmatch(line)
        assert found, line
        assert found[1].encode().decode("unicode_escape").encode("latin-1") == token
        assert 0 < len(token) <= 128


def test_quotes_and_odd_names_are_escaped() -> None:
    assert dictionary_text({"a-b": b'"\\ ~\x7f'}) == 'a_b="\\x22\\x5c ~\\x7f"\n'


@pytest.mark.usefixtures("own_modules")
def test_unions_keys_and_required_fields_of_own_messages(tmp_path: Path) -> None:
    parcel = build_package(tmp_path, "seeded", [PARCEL]).Parcel
    for version in parcel.VERSIONS:
        for _, message in seeds(parcel, version):
            assert parcel.decode(message.encode(version), version) == message
    chosen = {message.content[0] for _, message in seeds(parcel, 2)}
    assert chosen == {"text", "goods", "flowers"}
    # The seed `many` equals `full`, because `stops` must have distinct elements.
    assert "many" not in dict(seeds(parcel, 2))
