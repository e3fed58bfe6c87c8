import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from coded_ways import check_bytes, check_drawn, check_json
from shapes import REQUEST_BYTES, RESPONSE_BYTES, SPECS, make_shapes
from spec_projects import read_tree

import tagwire
from tagwire import arrow
from tagwire.message.field_table import layout_of
from tagwire_generator import pipeline
from tagwire_generator.message_classes import message_class
from tagwire_generator.pipeline import generate
from tagwire_generator.project.cache import CacheEntry
from tagwire_generator.project.settings import load
from tagwire_generator.project.spec_files import SpecData
from tagwire_generator.reading.imports import SharedStructs
from tagwire_generator.reading.spec import read_spec
from tagwire_workbench.mocking.values import RequestPath


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    root = make_shapes(tmp_path_factory.mktemp("shapes"))
    write(root)
    sys.path.insert(0, str(root / "src"))
    try:
        yield importlib.import_module("shapes_messages")
    finally:
        sys.path.remove(str(root / "src"))


def write(root: Path) -> None:
    (spec_set,) = load(root).sets
    package = generate(spec_set, jobs=1)
    assert package.problems == ()
    for name, text in package.files.items():
        path = spec_set.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def points(shapes: Any, version: int) -> tuple[Any, Any]:
    """Return the two points in the expected bytes. Fields that Point does not have in this version are left out."""
    more: dict[str, Any] = {"label": "hi"} if version > 0 else {}
    return shapes.Point(x=1, y=-2, **more, **({"z": 5} if version > 1 else {})), shapes.Point(x=3, y=4)


def request(shapes: Any, version: int) -> Any:
    at, via = points(shapes, (0, 0, 1, 2)[version])
    return shapes.PlaceRequest(name="ab", at=at, via=[via] if version else [])


def response(shapes: Any, version: int) -> Any:
    first, second = points(shapes, (0, 0, 2, 2)[version])
    edge = shapes.Line(from_=first, to=second, style=shapes.line.Style(width=9)) if version > 1 else None
    return shapes.PlaceResponse(points=[first], edge=edge)


GOLDEN = [
    *((request, version, data) for version, data in REQUEST_BYTES.items()),
    *((response, version, data) for version, data in RESPONSE_BYTES.items()),
]


@pytest.mark.parametrize(("make", "version", "hexadecimal"), GOLDEN)
def test_golden_bytes(shapes: Any, make: Any, version: int, hexadecimal: str) -> None:
    message, data = make(shapes, version), bytes.fromhex(hexadecimal)
    check_bytes(message, version, data)
    check_json(message, version)
    traced = tagwire.trace(type(message), data, version)
    assert traced.error is None
    assert {"at.x", "at.y"} <= {node.path for node in traced.parts[-1].walk()} or message.KIND == "response"


def test_there_is_one_class(shapes: Any) -> None:
    point = shapes.Point
    assert shapes.point.Point is point is shapes.place_request.Point is shapes.place_response.Point is shapes.line.Point
    assert not hasattr(shapes.point, "NAME") and "Point" not in shapes.registry and "Point" in dir(shapes)
    same = point(x=1, y=2)
    one, other = shapes.PlaceRequest(at=same), shapes.PlaceResponse(points=[same])
    assert one.at is other.points[0] is same == point(x=1, y=2)


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("file", ["PlaceRequest.json", "PlaceResponse.json"])
def test_generator_and_runtime_compute_equal_layouts(shapes: Any, file: str, version: int) -> None:
    shared = SharedStructs([SpecData(name, "", json.dumps(spec).encode()) for name, spec in SPECS.items()])
    spec = read_spec(json.dumps(SPECS[file]), file=file, shared=shared).message
    assert spec is not None
    here = layout_of(message_class(spec), version).root
    there = layout_of(shapes.registry[spec.name], version).root
    assert plain(here) == plain(there)


def plain(struct: Any) -> Any:
    """Return a layout as tuples, without the message classes, for comparing the layouts of two packages."""
    inner = [getattr(item.type, "element", item.type) for item in struct.fields]
    nested = [plain(each.struct) if hasattr(each, "struct") else None for each in inner]
    own = [(item.name, str(item.type), item.tag, item.default) for item in struct.fields]
    return struct.name, own, nested, [(each.name, each.default, each.ignorable) for each in struct.missing]


def test_values_missing_from_the_version_of_a_struct_are_rejected(shapes: Any) -> None:
    labelled = shapes.PlaceRequest(at=shapes.Point(label="hi", z=5))
    with pytest.raises(tagwire.EncodeError, match=r"at\.label"):
        labelled.encode(1)
    assert [loss.path for loss in labelled.losses(1)] == ["at.label", "at.z"]
    assert str(labelled.supported_versions()) == "3"
    assert shapes.PlaceRequest.decode(labelled.encode(2), 2).at.z == 0, "Z is ignorable, so version 2 drops it"


def test_json_requires_fields_of_the_struct_version(shapes: Any) -> None:
    obj = {"name": "ab", "at": {"x": 1, "y": -2}, "via": []}
    assert shapes.PlaceRequest.from_json(obj, 2).at == shapes.Point(x=1, y=-2)
    with pytest.raises(tagwire.EncodeError, match="the key 'z' is missing"):
        shapes.PlaceRequest.from_json(obj, 3)


def test_columns_have_the_fields_of_all_versions(shapes: Any) -> None:
    rows = [bytes.fromhex(data) for version, data in REQUEST_BYTES.items() if version == 3]
    decoded = arrow.decode_column(pa.array(rows, pa.binary()), shapes.PlaceRequest, 3)
    [row] = pa.array(decoded).to_pylist()
    assert (row["at"]["label"], row["at"]["z"], row["via"][0]["x"]) == ("hi", 5, 3)
    assert pa.array(arrow.encode_column(decoded, shapes.PlaceRequest, 3)).to_pylist() == rows


def test_selections_and_mock_scripts_go_into_shared_structs(shapes: Any) -> None:
    at = tagwire.select(shapes.PlaceRequest, "at.x", "at.label")
    assert at.read(bytes.fromhex(REQUEST_BYTES[0]), 0) == [(1, "")]
    assert at.read(bytes.fromhex(REQUEST_BYTES[3]), 3) == [(1, "hi")]
    chosen = tagwire.select(shapes.PlaceResponse, "edge.style.width", "points")
    assert chosen.holder_versions(3) == (1, 3) and chosen.holder_versions(0) == (None, 0)
    received: Any = SimpleNamespace(message=request(shapes, 2), version=2)
    path = RequestPath("at", shapes.PlaceRequest, shapes.PlaceRequest)
    assert path.json(received) == {"x": 1, "y": -2, "label": "hi"}, "no z, which version 2 of Point has"


@pytest.mark.parametrize("version", range(4))
def test_engines_agree(shapes: Any, version: int) -> None:
    check_drawn(shapes.PlaceResponse, version)


def test_changed_shared_struct_regenerates_the_messages_that_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, rendered = make_shapes(tmp_path), list[str]()
    (spec_set,) = load(root).sets
    make = pipeline._make

    def recorded(task: pipeline._Task) -> CacheEntry:
        rendered.append(task.spec.file)
        return make(task)

    other = root / "specs" / "Alone.json"
    other.write_text('{"name": "Alone", "type": "data", "validVersions": "0", "flexibleVersions": "none"}')
    generate(spec_set, jobs=1)
    monkeypatch.setattr(pipeline, "_make", recorded)
    generate(spec_set, jobs=1)
    assert rendered == []
    line = root / "specs" / "Line.json"
    line.write_text(line.read_text().replace('"To"', '"Until"'))
    generate(spec_set, jobs=1)
    assert rendered == ["specs/Line.json", "specs/PlaceResponse.json"]
    rendered.clear()
    point = root / "specs" / "geometry" / "Point.json"
    point.write_text(point.read_text().replace('"Z"', '"Height"'))
    assert "height" in generate(spec_set, jobs=1).files["serializers/place_response.py"]
    every = ["specs/Line.json", "specs/PlaceRequest.json", "specs/PlaceResponse.json", "specs/geometry/Point.json"]
    assert sorted(rendered) == every
    assert read_tree(root / "specs")
