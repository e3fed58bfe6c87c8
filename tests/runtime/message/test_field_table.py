import pytest
from sample_messages.poll import PollRequest, PollTopic, Rack

from tagwire.errors import UnsupportedVersionError
from tagwire.layout import Array, Nested, StructLayout, TaggedSection
from tagwire.message.field_table import FieldRow, layout_of
from tagwire.versions import Versions


def described(struct: StructLayout) -> list[str]:
    tagged = struct.section.fields if struct.section else ()
    return [f"{item.name}: {item.type}" for item in struct.items] + [
        f"{item.tag} {item.name}: {item.type}" for item in tagged
    ]


def test_each_version_has_its_own_layout() -> None:
    expected = ["topics: []PollTopic", "urgent: bool", "ratio: float64", "port: uint16", "payload: bytes"]
    assert described(layout_of(PollRequest, 0).root) == expected
    expected = ["topics: nullable []PollTopic", "urgent: bool", "ratio: float64", "max_wait_ms: int32", "quota: int64"]
    assert described(layout_of(PollRequest, 1).root)[:5] == expected
    assert described(layout_of(PollRequest, 2).root) == [
        "topics: nullable compact []PollTopic",
        "urgent: bool",
        "ratio: float64",
        "max_wait_ms: int32",
        "quota: int64",
        "payload: nullable compact bytes",
        "snapshot: nullable compact records",
        "cursor: nullable Rack",
        "0 reason: nullable compact string",
        "1 rack: Rack",
    ]
    assert described(layout_of(PollRequest, 3).root)[-1] == "2 weight: float64"


def test_markers_and_classes() -> None:
    by_name = {item.name: item.type for item in layout_of(PollRequest, 2).root.fields}
    cursor, topics = by_name["cursor"], by_name["topics"]
    assert isinstance(cursor, Nested) and cursor.marker == "int8" and cursor.struct.cls is Rack
    assert isinstance(topics, Array) and isinstance(topics.element, Nested)
    assert topics.element.struct.cls is PollTopic and isinstance(topics.element.struct.section, TaggedSection)


def test_fields_missing_from_a_version_are_listed() -> None:
    missing = {field.name: (field.default_value(), field.ignorable) for field in layout_of(PollRequest, 0).root.missing}
    assert missing == {
        "max_wait_ms": (500, True),
        "quota": (0, False),
        "snapshot": (None, False),
        "cursor": (None, False),
        "reason": (None, True),
        "rack": (Rack(), False),
        "weight": (1.0, False),
    }


def test_layouts_are_made_once_and_only_for_valid_versions() -> None:
    assert layout_of(PollRequest, 1) is layout_of(PollRequest, 1)
    with pytest.raises(UnsupportedVersionError, match="PollRequest has no version 4; supported versions are 0-3"):
        layout_of(PollRequest, 4)


@pytest.mark.parametrize(
    ("spec_name", "json_name"), [("ThrottleTimeMs", "throttleTimeMs"), ("ISR", "iSR"), ("name", "name")]
)
def test_json_names(spec_name: str, json_name: str) -> None:
    assert FieldRow("x", spec_name, "int8", Versions.parse("0+"), default=0).json_name == json_name
