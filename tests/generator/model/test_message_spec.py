import dataclasses

import pytest
from spec_models import field, message, struct

from tagwire.versions import NONE, Versions
from tagwire_generator.model import STRUCT_DEFAULT, MessageSummary


def test_warnings_stop_nothing_and_do_not_count_in_equality() -> None:
    spec = message(field(versions=Versions(7, 9)), field("B", ignorable=True))
    assert [violation.rule for violation in spec.warnings] == ["TW420", "TW422"]
    assert dataclasses.replace(spec.fields[0]) == spec.fields[0]


def test_structs_come_after_those_that_they_hold() -> None:
    structs = (struct("A", field(type="C")), struct("B", field(type="[]A")), struct("C", field()), struct("D", field()))
    spec = message(field(type="B"), field("E", type="D"), structs=structs)
    assert [each.name for each in spec.structs] == ["C", "A", "B", "D"]
    assert spec.struct("A").fields[0].default is STRUCT_DEFAULT
    with pytest.raises(KeyError):
        spec.struct("E")


@pytest.mark.parametrize(
    ("valid", "unstable", "latest"),
    [(Versions(0, 3), False, 3), (Versions(0, 3), True, 2), (Versions(2, 2), True, -1), (NONE, False, -1)],
)
def test_the_latest_stable_version(valid: Versions, unstable: bool, latest: int) -> None:
    spec = message(kind="request", valid_versions=valid, latest_version_unstable=unstable)
    assert spec.latest_stable == latest


def test_removed_message_has_no_fields() -> None:
    spec = message(field(type="Undeclared"), valid_versions=NONE, structs=(struct("S"),), reserved_tags=(1,))
    assert (spec.fields, spec.structs, spec.reserved_tags, spec.root.fields) == ((), (), (), ())


def test_a_summary_survives_json() -> None:
    spec = message(kind="request", api_key=3, component="clients", file="Sample.json", line=2, column=5)
    summary = spec.summary()
    assert MessageSummary.from_dict(summary.as_dict()) == summary
    position = {"file": "Sample.json", "line": 2, "column": 5}
    versions = {"valid_versions": "0-3", "flexible_versions": "0+"}
    expected = {"name": "Sample", "kind": "request", "api_key": 3, "component": "clients", **versions, **position}
    assert summary.as_dict() == expected | {"about": "", "aliases": (), "numbers": ()}
