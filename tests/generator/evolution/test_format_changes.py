import json
from pathlib import Path
from typing import Any

import pytest

from tagwire_generator.evolution.check import compare_specs
from tagwire_generator.evolution.lock import LockError, updated_lock
from tagwire_generator.evolution.spec_sources import SpecData, SpecReader
from tagwire_generator.model import MessageSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import load, read_spec

SPECS = Path(__file__).parents[3] / "message_specs"


def field(name: str, type: str, **keys: Any) -> dict[str, Any]:
    return {"name": name, "type": type, **keys}


COMPRESSION = {"name": "Compression", "bits": "0-1", "values": ["none", "gzip"]}
RECORD = [
    field("Length", "varint", lengthOf="rest"),
    field("OffsetDelta", "varint", deltaOf="BaseOffset"),
    field("Value", "bytes", length="varint", nullable=True),
]
FIELDS = [
    field("BaseOffset", "int64"),
    field("Magic", "int8", equals=9),
    field("Crc", "crc32c", covers="Attributes"),
    field("Attributes", "int16", bits=[COMPRESSION, {"name": "HasStamp", "bits": 4}]),
    field("Stamp", "uvarlong", when={"field": "Attributes.HasStamp"}),
    field("Count", "int32", countOf="Records"),
    field("Records", "[]Record", compression="Attributes.Compression", fields=RECORD),
]


def spec(fields: list[dict[str, Any]] = FIELDS, **changes: Any) -> MessageSpec:
    head = {"name": "Letters", "type": "format", "format": "letters", "discriminator": "Magic", "fields": fields}
    message = read_spec(json.dumps(head | changes)).message
    assert message is not None, read_spec(json.dumps(head | changes)).problems
    return message


def changed(path: str, **changes: Any) -> MessageSpec:
    """Return a valid spec in which one field's keys are changed. A change to None removes the key."""
    fields = members = json.loads(json.dumps(FIELDS))
    outer, _, inner = path.rpartition(".")
    if outer:
        members = next(each for each in fields if each["name"] == outer)["fields"]
    found = next(each for each in members if each["name"] == inner)
    found.update(changes)
    for key in [key for key, value in found.items() if value is None]:
        del found[key]
    return spec(fields)


STAMP_5 = [COMPRESSION, {"name": "HasStamp", "bits": 5}]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (spec(), []),
        (spec(claims=[{"field": "Magic", "value": 9, "bytes": 1}]), []),
        (changed("BaseOffset", rewritten=True), []),
        (changed("BaseOffset", about="Where it begins."), []),
        (changed("Magic", equals=8), [("TW914", "magic"), ("TW921", "magic")]),
        (changed("Stamp", type="varlong"), [("TW914", "stamp")]),
        (changed("Stamp", when=None), [("TW914", "stamp")]),
        (changed("Stamp", when={"field": "Attributes.HasStamp", "equals": 0}), [("TW914", "stamp")]),
        (changed("Crc", covers="Count"), [("TW914", "crc")]),
        (changed("Attributes", bits=STAMP_5), [("TW914", "attributes"), ("TW914", "stamp")]),
        (changed("Records", compression=None), [("TW914", "records")]),
        (changed("Records.OffsetDelta", deltaOf="Count"), [("TW914", "records.offset_delta")]),
        (changed("Records.Value", length="uvarint"), [("TW914", "records.value")]),
        (changed("Records.Value", nullable=None), [("TW914", "records.value")]),
        (spec([FIELDS[1], FIELDS[0], *FIELDS[2:]]), [("TW914", "")]),
        (spec([*FIELDS[:2], {"name": "New", "type": "int8"}, *FIELDS[2:]]), [("TW914", "new")]),
        (spec([{"name": "Old", "type": "int8"}, *FIELDS[:1], *FIELDS[1:]]), [("TW914", "old")]),
        (spec([*FIELDS[:4], *FIELDS[5:]]), [("TW914", "")]),
        (spec(format="mails"), [("TW940", "")]),
        (changed("Records.Value", name="Content"), [("TW941", "records.content")]),
    ],
)
def test_changes_of_a_format(new: MessageSpec, expected: list[tuple[str, str]]) -> None:
    assert sorted((finding.rule, finding.path) for finding in compare_specs([spec()], [new])) == sorted(expected)


def test_references_follow_a_renamed_field() -> None:
    text = json.dumps(FIELDS)
    for old, new in (("BaseOffset", "FirstOffset"), ("HasStamp", "Stamped"), ("Compression", "Codec")):
        text = text.replace(old, new)
    found = {(finding.rule, finding.path) for finding in compare_specs([spec()], [spec(json.loads(text))])}
    assert found == {("TW941", "first_offset"), ("TW920", "attributes")}


def test_a_format_that_became_a_message() -> None:
    message = read_spec('{"name": "Letters", "type": "data", "validVersions": "0", "flexibleVersions": "none"}').message
    assert message is not None
    for old, new in ((spec(), message), (message, spec())):
        assert [finding.rule for finding in compare_specs([old], [new])] == ["TW923"]


@pytest.mark.parametrize("path", sorted(SPECS.glob("records/*.json")), ids=lambda path: path.stem)
def test_format_compared_with_itself_has_no_changes(path: Path) -> None:
    assert compare_specs([load(path)], [load(path)]) == ()


def test_lock_file_does_not_contain_formats() -> None:
    data = SpecData("Letters.json", "", (SPECS / "records" / "MessageV0.json").read_bytes())
    texts = SpecReader().read([data], SpecOptions())
    with pytest.raises(LockError, match=r"a lock file can't contain record formats; .* --against"):
        updated_lock(None, texts, SpecOptions())


def test_registers_are_not_compared() -> None:
    data = SpecData("E.json", "", (SPECS / "registries" / "kafka" / "ErrorCode.json").read_bytes())
    texts = SpecReader().read([data], SpecOptions())
    assert (texts.specs, texts.invalid) == ({}, {})
