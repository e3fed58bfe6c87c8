import json
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from build_package import build_package
from command import tagwire_result
from parcel_specs import PARCEL

import tagwire_messages as messages
from tagwire.message.field_table import layout_of
from tagwire_cli.version_diff import diff_versions

DRAFT = ("--package", "tagwire_drafts.kip482")
run = partial(tagwire_result, "diff")


def test_two_versions() -> None:
    assert run("HeartbeatRequest", "2", "4").stdout.splitlines() == [
        "HeartbeatRequest v2 -> v4",
        "header 1 -> 2, now flexible, at least 8 bytes, a fresh object 8 bytes",
        "",
        "field              v2      v4                       change",
        "group_id           string  compact string           compact",
        "member_id          string  compact string           compact",
        "group_instance_id  -       nullable compact string  added",
    ]


def test_backwards() -> None:
    lines = run("HeartbeatRequest", "4", "3").stdout.splitlines()
    assert lines[:2] == [
        "HeartbeatRequest v4 -> v3",
        "header 2 -> 1, no longer flexible, at least 8 -> 10 bytes, a fresh object 8 -> 10 bytes",
    ]
    assert " ".join(lines[-1].split()) == "group_instance_id nullable compact string nullable string compact"
    assert run("HeartbeatRequest", "4", "2").stdout.splitlines()[-1].endswith("-       removed")


def test_nothing_changed() -> None:
    expected = "HeartbeatRequest v0 -> v1\nheader 1, at least 8 bytes, a fresh object 8 bytes\nthe same fields\n"
    assert run("HeartbeatRequest", "0", "1").stdout == expected
    assert run("HeartbeatRequest", "4", "4").stdout.endswith(
        "flexible, at least 8 bytes, a fresh object 8 bytes\nthe same fields\n"
    )


def test_every_step() -> None:
    text = run("HeartbeatRequest").stdout
    steps = [run("HeartbeatRequest", str(old), str(new)).stdout for old, new in pairwise(range(5))]
    assert text == "\n".join(steps)
    assert run("OffsetDeleteRequest").stdout == "OffsetDeleteRequest has only version 0; there is nothing to compare\n"


def test_nested_fields_and_optional_fields() -> None:
    rows = run("FooRequest", "8", "9", *DRAFT).stdout.splitlines()
    assert rows[1] == "header 1, now with optional fields, at least 5 -> 6 bytes, a fresh object 5 -> 6 bytes"
    assert [line.split() for line in rows if line.startswith(("filters.limit", "origin.hops"))] == [
        ["filters.limit", "-", "int32,", "tag", "2", "added"],
        ["origin.hops", "-", "[]int32", "added"],
    ]
    assert "header" not in run("OffsetCommitValue").stdout


def test_as_json() -> None:
    found = json.loads(run("HeartbeatRequest", "2", "3", "--json").stdout)
    side = {"headerVersion": 1, "flexible": False, "optionalFields": False}
    new = {"type": "nullable string", "nullable": True, "compact": False, "tag": None}
    assert found == {
        "name": "HeartbeatRequest",
        "old": {"version": 2, **side, "minimumSize": 8, "defaultSize": 8},
        "new": {"version": 3, **side, "minimumSize": 10, "defaultSize": 10},
        "fields": [{"path": "group_instance_id", "changes": ["added"], "old": None, "new": new}],
    }
    steps = json.loads(run("HeartbeatRequest", "--json").stdout)
    assert [(step["old"]["version"], step["new"]["version"]) for step in steps] == list(pairwise(range(5)))
    assert steps[2] == found
    assert json.loads(run("OffsetDeleteRequest", "--json").stdout) == []


def field(name: str, type: str, versions: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "versions": versions, **more}


def spec(name: str, valid: str, *fields: dict[str, Any], flexible: str = "none") -> dict[str, Any]:
    head = {"dialect": "tagwire", "type": "data", "name": name, "validVersions": valid, "flexibleVersions": flexible}
    return head | {"fields": [*fields]}


LEFT = field("Left", "bytes", "1+", flexibleVersions="3+")
SHIFTING = spec(
    "Shifting",
    "0-3",
    field("Text", "string", "0+", nullableVersions="1+"),
    field("Late", "int32", "0+", taggedVersions="2+", tag=0),
    field("Pair", "Pair", "1+", nullableVersions="2+", fields=[LEFT]),
    field("Data", "records", "3+"),
    flexible="1+",
)
STOP = [field("City", "string", "0+"), field("Gate", "int8", "1+")]
COUNT, GRID = field("Count", "int32", "0+", nullableVersions="1+"), field("Grid", "[][]Stop", "0+", fields=STOP)


def test_each_kind_of_change(tmp_path: Path) -> None:
    shifting = build_package(tmp_path, "shifting_messages", [SHIFTING]).registry["Shifting"]
    kinds = {
        (step.old.version, change.path): change.kinds
        for step in (diff_versions(shifting, old, old + 1) for old in range(3))
        for change in step.changes
    }
    assert kinds == {
        (0, "text"): ("nullable", "compact"),
        (0, "pair"): ("added",),
        (0, "pair.left"): ("added",),
        (1, "late"): ("moved",),
        (1, "pair"): ("nullable",),
        (2, "pair.left"): ("compact",),
        (2, "data"): ("added",),
    }
    [moved, _] = diff_versions(shifting, 1, 2).changes
    assert (str(moved.old), str(moved.new)) == ("int32", "int32, tag 0")
    # Version 3 can't encode a default message: `records` defaults to null, which this version does not allow.
    assert diff_versions(shifting, 2, 3).new.default_size is None


def test_sizes_of_fresh_objects_with_required_fields(tmp_path: Path) -> None:
    """Check that a default message takes 8 bytes in version 0: an int32 ID, and the int32 count of an empty array.

    Version 1 has no default size: one alternative of its union is required, so a default message can't be encoded.
    """
    parcel = build_package(tmp_path, "parcels_to_compare", [PARCEL]).registry["Parcel"]
    difference = diff_versions(parcel, 0, 1)
    assert (difference.old.default_size, difference.new.default_size) == (8, None)
    assert run("Parcel", "0", "1", "--package", "parcels_to_compare").exit_code == 0
    tagwire_result("show", "Parcel", "--package", "parcels_to_compare", code=0)


def test_nullable_numbers_and_arrays_of_arrays(tmp_path: Path) -> None:
    routes = build_package(tmp_path, "routes_to_compare", [spec("Routes", "0-1", COUNT, GRID)]).registry["Routes"]
    changes = {change.path: change.kinds for change in diff_versions(routes, 0, 1).changes}
    assert changes == {"count": ("nullable",), "grid.gate": ("added",)}


def test_versions_without_listed_changes_encode_alike() -> None:
    silent = 0
    for name in messages.registry.names():
        cls = messages.registry[name]
        for old, new in pairwise(cls.VERSIONS):
            difference = diff_versions(cls, old, new)
            before, after = ({item.name for item in layout_of(cls, version).root.fields} for version in (old, new))
            found = {c.path for c in difference.changes if "." not in c.path and (c.old is None or c.new is None)}
            assert found == before ^ after
            if not difference.changes and difference.old.flexible == difference.new.flexible:
                silent += 1
                assert cls().encode(old) == cls().encode(new)
    assert silent > 50
