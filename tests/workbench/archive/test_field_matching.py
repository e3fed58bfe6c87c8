import re
from collections.abc import Mapping

import pytest
from release_jars import Spec, data, field

from tagwire.errors import SpecError
from tagwire.versions import Versions
from tagwire_workbench.archive.merge import FieldPairing, paired


def pairs(newer: Spec, older: Spec) -> FieldPairing:
    shared = set(Versions.parse(newer["validVersions"])) & set(Versions.parse(older["validVersions"]))
    return paired(newer, older, sorted(shared))


def of_root(newer: Spec, older: Spec) -> Mapping[str, str]:
    return pairs(newer, older).fields("FooData", "FooData", newer["fields"], older["fields"])


@pytest.mark.parametrize(
    ("newer", "older", "expected"),
    [
        # Fields match by name. If the names differ, they match by position.
        (data("1", field("A")), data("0-1", field("A")), {"A": "A"}),
        (data("1", field("B")), data("0-1", field("A")), {"A": "B"}),
        (data("1", field("B"), field("A")), data("0-1", field("A"), field("B")), {"A": "B", "B": "A"}),
        # If two specs have no version in common, their fields match only by name.
        (data("1", field("A")), data("0-1", field("A"), field("C", versions="0")), {"A": "A"}),
        (data("1-2", field("A", versions="2+")), data("0-1", field("A", versions="0")), {"A": "A"}),
        (data("1", field("C", versions="2+")), data("0-1", field("A", versions="0")), {}),
        # Old was renamed to New. Version 2 adds a different field that is also named Old.
        (data("1-2", field("New"), field("Old", "int8", versions="2+")), data("0-1", field("Old")), {"Old": "New"}),
        # Tagged fields match by tag.
        (
            data("1", field("A"), field("T", tag=0, taggedVersions="0+"), flexible="0+"),
            data("0-1", field("A"), field("S", tag=0, taggedVersions="0+"), flexible="0+"),
            {"A": "A", "S": "T"},
        ),
        # Version 1 differs between the releases, so fields can't match by position.
        (
            data("1-2", field("A", "int8", versions="1"), field("Renamed", "int64", versions="2+")),
            data("0-1", field("A", "int16", versions="1"), field("B", "int64", versions="0")),
            None,
        ),
    ],
)
def test_partners(newer: Spec, older: Spec, expected: dict[str, str] | None) -> None:
    if expected is None:
        with pytest.raises(SpecError, match=r"field A has type int16 in the older release and int8 in the newer one"):
            of_root(newer, older)
    else:
        assert of_root(newer, older) == expected


def test_structs_are_paired_with_their_fields() -> None:
    newer = data("1", field("Items", "[]NewItem", fields=[field("Id"), field("Rack", "string")]))
    older = data("0-1", field("Entries", "[]Entry", fields=[field("Key"), field("Rack", "string")]))
    found = pairs(newer, older)
    assert found.structs == {"FooData": "FooData", "Entry": "NewItem"}
    inner = found.fields("NewItem", "Entry", newer["fields"][0]["fields"], older["fields"][0]["fields"])
    assert inner == {"Key": "Id", "Rack": "Rack"}


def test_field_can_not_match_two_fields() -> None:
    newer = data("1-2", field("A", versions="0-1"), field("B", versions="2+"))
    message = "the older field FooData.whole corresponds to the newer field a in one version, but to b in another"
    with pytest.raises(SpecError, match=re.escape(message)):
        pairs(newer, data("0-2", field("Whole")))


def test_name_with_another_type_is_rejected() -> None:
    newer, older = data("1", field("A", "string", "1+")), data("0", field("A", "int32"))
    with pytest.raises(SpecError, match=r"field A has type int32 in the older release and string in the newer one"):
        of_root(newer, older)
