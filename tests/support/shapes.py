"""A small protocol with shared structs: `Point`, in three versions, and `Line`, which contains points.

The bytes are computed by hand. A string has an int16 length or, in flexible versions, a compact length. In flexible
versions, each struct ends with a tag section.
"""

import json
from pathlib import Path
from typing import Any

POINT: dict[str, Any] = {"type": "struct", "dialect": "tagwire", "name": "Point", "validVersions": "0-2"} | {
    "fields": [
        {"name": "X", "type": "int16", "versions": "0+"},
        {"name": "Y", "type": "int16", "versions": "0+"},
        {"name": "Label", "type": "string", "versions": "1+", "taggedVersions": "1+", "tag": 0},
        {"name": "Z", "type": "int16", "versions": "2+", "ignorable": True},
    ],
}
STYLE = {"name": "Style", "type": "Style", "versions": "1+", "nullableVersions": "1+", "default": "null"}
LINE: dict[str, Any] = {"type": "struct", "dialect": "tagwire", "name": "Line", "validVersions": "0-1"} | {
    "imports": [{"name": "Point", "structVersions": {"0": 0, "1+": 2}}],
    "fields": [
        {"name": "From", "type": "Point", "versions": "0+"},
        {"name": "To", "type": "Point", "versions": "0+"},
        STYLE | {"fields": [{"name": "Width", "type": "int8", "versions": "1+"}]},
    ],
}


def _rpc(kind: str, name: str, imports: list[dict[str, Any]], *fields: dict[str, Any]) -> dict[str, Any]:
    head = {"apiKey": 7, "type": kind, "dialect": "tagwire", "name": name}
    return head | {"validVersions": "0-3", "flexibleVersions": "1+", "imports": imports, "fields": [*fields]}


REQUEST = _rpc(
    "request",
    "PlaceRequest",
    [{"name": "Point", "structVersions": {"0-1": 0, "2": 1, "3+": 2}}],
    {"name": "Name", "type": "string", "versions": "0+"},
    {"name": "At", "type": "Point", "versions": "0+"},
    {"name": "Via", "type": "[]Point", "versions": "1+", "ignorable": True},
)
USES = [{"name": "Line", "structVersions": {"2+": 1}}, {"name": "Point", "structVersions": {"0-1": 0, "2+": 2}}]
RESPONSE = _rpc(
    "response",
    "PlaceResponse",
    USES,
    {"name": "ErrorCode", "type": "int16", "versions": "0+"},
    {"name": "Points", "type": "[]Point", "versions": "0+"},
    {"name": "Edge", "type": "Line", "versions": "2+", "nullableVersions": "2+", "default": "null"},
)
SPECS = {"Line.json": LINE, "geometry/Point.json": POINT, "PlaceRequest.json": REQUEST, "PlaceResponse.json": RESPONSE}

REQUEST_BYTES = {
    0: "0002 6162  0001 fffe",
    1: "03 6162  0001 fffe 00  02 0003 0004 00  00",
    2: "03 6162  0001 fffe 01 00 03 03 6869  02 0003 0004 00  00",
    3: "03 6162  0001 fffe 0005 01 00 03 03 6869  02 0003 0004 0000 00  00",
}
"""The bytes of a request in each version. In version 0, the name is "ab", and At is the point with X 1 and Y -2.

Version 1 adds Via with one point (3, 4). Version 2 adds the tagged field Label to At: "hi" (tag 0, 3 bytes). Version 3
adds Z (5 in At, 0 in Via).
"""
RESPONSE_BYTES = {
    0: "0000  00000001 0001 fffe",
    1: "0000  02 0001 fffe 00  00",
    2: "0000  02 0001 fffe 0005 01 00 03 03 6869  01 0001 fffe 0005 01 00 03 03 6869 0003 0004 0000 00 01 09 00 00  00",
    3: "0000  02 0001 fffe 0005 01 00 03 03 6869  01 0001 fffe 0005 01 00 03 03 6869 0003 0004 0000 00 01 09 00 00  00",
}
"""The bytes of a response in each version: ErrorCode 0, and a list of one point, with the values of the request's At.

Version 2 adds Label and Z to the point, and the nullable structs Edge (points From and To) and Style (Width 9). A byte
01 before Edge and Style means "not null".
"""


def make_shapes(root: Path) -> Path:
    """Create a project with the specs of this protocol, but don't generate its code yet."""
    settings = '[tool.tagwire]\nformatter = "ruff"\n'
    settings += '[[tool.tagwire.sets]]\nspecs = "specs"\npackage = "shapes_messages"\noutput = "src"\n'
    (root / "pyproject.toml").write_text(f'{settings}lock = "lock.json"\n', encoding="utf-8")
    for name, spec in SPECS.items():
        path = root / "specs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(spec, indent=2) + "\n", encoding="utf-8")
    return root
