"""Compare the generated classes with bytes and results of Kafka's own classes. Each file of cases has one test.

A test collects all differences and shows the first few.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from build_package import build_package
from kafka_cases import FOLDER, label, present, rows

import tagwire
import tagwire_messages as messages

Row = dict[str, Any]


def differences(name: str, check: Callable[[Row], str | None], at_least: int) -> None:
    cases = list(present(name))
    found = [(label(row), what) for row in cases if (what := check(row))]
    assert not found, f"{len(found)} of {len(cases)} differ, such as {found[:5]}"
    assert len(cases) >= at_least


def check_vector(row: Row) -> str | None:
    cls, version, data = messages.registry[row["message"]], row["version"], bytes.fromhex(row["hex"])
    message = cls.decode(data, version)
    if message.encode(version) != data:
        return "encode"
    if message.encoded_size(version) != len(data):
        return "encoded_size"
    if cls.decode(bytearray(data), version, views=True).encode(version) != data:
        return "views"
    if cls.decode_from(b"\x55" + data + b"\xaa", version, 1) != (message, len(data) + 1):
        return "decode_from"
    again = cls.from_json(json.loads(json.dumps(message.to_json(version))), version)
    if again != message or again.encode(version) != data:
        return "lossless JSON"
    is_renamed = row["message"] != cls.NAME
    if "json_out" in row and not is_renamed and message.to_json(version, style="kafka") != row["json_out"]:
        return "Kafka's JSON"
    if "json" in row and "unknown" not in row and message.to_json(version) != row["json"]:
        return "lossless JSON differs from Kafka's"
    return None


@pytest.mark.parametrize(("name", "at_least"), [("rand", 2900), ("unk", 370), ("golden_vectors", 1480)])
def test_vectors_of_kafkas_classes(name: str, at_least: int) -> None:
    differences(name, check_vector, at_least)


def test_ignorable_values_are_dropped() -> None:
    def check(row: Row) -> str | None:
        message = messages.registry[row["message"]].from_json(row["json_in"], row["version"])
        if message.encode(row["version"]).hex() != row["hex"]:
            return "bytes"
        dropped = {loss.path for loss in message.losses(row["version"]) if loss.ignorable}
        return None if len(dropped) >= len(row["dropped"]) else f"{dropped} of {row['dropped']} reported"

    differences("ign", check, 100)


def test_unsupported_values_are_rejected_or_dropped() -> None:
    def check(row: Row) -> str | None:
        if row["path"]:
            return None
        cls, version = messages.registry[row["message"]], row["version"]
        message = cls.from_json(row["json"], version)
        donor = cls.from_json(
            cls().to_json(row["donor_version"], style="kafka") | {row["field"]: row["value"]}, row["donor_version"]
        )
        (name,) = (each.name for each in cls.FIELDS if each.json_name == row["field"])
        setattr(message, name, getattr(donor, name))
        try:
            data = message.encode(version).hex()
        except tagwire.EncodeError as error:
            return None if row["outcome"] == "throws" and error.path.startswith(name) else f"rejected: {error}"
        return None if row["outcome"] == "dropped" and data == row["base_hex"] else f"not {row['outcome']}"

    differences("unsupported", check, 400)


def is_whole(row: Row) -> bool:
    """Return whether Kafka reads a mutated message completely and writes it back unchanged."""
    return (row["result"], row.get("bytes_left"), row.get("rewrite_hex")) == ("ok", 0, row["hex"])


def test_mutations_strictly() -> None:
    def check(row: Row) -> str | None:
        cls, version, data = messages.registry[row["message"]], row["version"], bytes.fromhex(row["hex"])
        try:
            message = cls.decode(data, version)
        except tagwire.DecodeError as error:
            if is_whole(row):
                return f"rejected: {error}"
            return None if 0 <= error.offset <= len(data) and isinstance(error.path, str) else "no place"
        if not is_whole(row):
            return f"accepted, Kafka says {row['result']}"
        return None if message.encode(version) == data else "not written back the same"

    differences("mutations", check, 700)


def test_mutations_leniently() -> None:
    def check(row: Row) -> str | None:
        cls, version, data = messages.registry[row["message"]], row["version"], bytes.fromhex(row["hex"])
        try:
            message = cls.decode(data, version, strict=False)
        except tagwire.DecodeError as error:
            return f"rejected: {error}" if row["result"] == "ok" else None
        if row["result"] != "ok":
            return None if row.get("error") else f"accepted, Kafka says {row['result']}"
        # The expected JSON is Kafka's, but with records in base64.
        return None if without_unknown_tags(message.to_json(version)) == row["json_out"] else "JSON"

    differences("mutations", check, 700)


def without_unknown_tags(value: Any) -> Any:
    if isinstance(value, list):
        return [without_unknown_tags(each) for each in value]
    if isinstance(value, dict):
        return {key: without_unknown_tags(each) for key, each in value.items() if key != "_unknownTags"}
    return value


def test_probes_of_tag_sections() -> None:
    for row in rows("probes"):
        cls, data = messages.registry[row["message"]], bytes.fromhex(row["hex"])
        same = row["ok"] and row.get("rewrite_hex") == row["hex"]
        try:
            assert cls.decode(data, row["version"]).encode(row["version"]) == data, row["name"]
            # Kafka reads the highest tag, but refuses to write it. tagwire reads and writes it.
            assert same or row["name"] == "tag 2^31-1", row["name"]
        except tagwire.DecodeError:
            assert not same, row["name"]


@pytest.fixture(scope="module")
def kafkas_test_messages(tmp_path_factory: pytest.TempPathFactory) -> Any:
    specs = [json.loads(path.read_text()) for path in sorted((FOLDER / "test_specs").glob("*.json"))]
    return build_package(tmp_path_factory.mktemp("kafka_test"), "kafka_test_messages", specs)


def test_kafkas_own_test_messages(kafkas_test_messages: Any) -> None:
    count = 0
    for row in rows("test_messages"):
        cls, version, data = kafkas_test_messages.registry[row["message"]], row["version"], bytes.fromhex(row["hex"])
        message = cls.decode(data, version)
        assert (message.encode(version), message.to_json(version, style="kafka")) == (data, row["json_out"]), label(row)
        count += 1
    assert count == 22


def test_read_cases(kafkas_test_messages: Any) -> None:
    """Lenient decoding accepts what Kafka reads; strict decoding, what Kafka also writes back unchanged."""
    for row in rows("read_cases"):
        package = kafkas_test_messages if row["message"] in kafkas_test_messages.registry else messages
        cls, version, data = package.registry[row["message"]], row["version"], bytes.fromhex(row["hex"])
        if version not in cls.VERSIONS:
            continue  # version -1, or a header version that the package lacks
        same = row["result"] == "ok" and row["bytes_left"] == 0 and row["rewrite"] == row["hex"]
        try:
            message = cls.decode(data, version)
            assert same or row["name"] in STRICT_TAKES, row["name"]
            assert message.encode(version).hex() == row.get("rewrite", row["hex"]), row["name"]
        except tagwire.DecodeError:
            assert not same, row["name"]
        if row["result"] == "ok":
            lenient = cls.decode(data, version, strict=False)
            assert lenient.to_json(version, style="kafka") == row["json"], row["name"]


STRICT_TAKES = {
    "known tag explicit default int16=123": "a tagged field at its default is read, and left out again",
    "tag8 at v1 (valid only 2+)": "a tag of later versions is kept as unknown",
}
"""Rows that strict decoding accepts although Kafka rejects or changes them, with the reasons."""
