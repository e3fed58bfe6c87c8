"""Specs of a small protocol that uses every value rule of the tagwire dialect."""

from typing import Any


def alternative(name: str, kind: str, tag: int, since: str = "1+", **more: Any) -> dict[str, Any]:
    versions = {"taggedVersions": since, "nullableVersions": since, "versions": since, "default": "null"}
    return {"name": name, "type": kind, "tag": tag, "union": "Content", **versions, **more}


STOP = [
    {"name": "City", "type": "string", "versions": "0+", "mapKey": True},
    {"name": "Gate", "type": "int8", "versions": "2+", "mapKey": True},
    {"name": "Minutes", "type": "int16", "versions": "0+"},
]
NAME = {"name": "Name", "type": "string", "versions": "2+", "required": True}
HEAD = {"dialect": "tagwire", "name": "Parcel", "type": "data", "validVersions": "0-2", "flexibleVersions": "1+"}
PARCEL: dict[str, Any] = HEAD | {
    "fields": [
        {"name": "Id", "type": "int32", "versions": "0+", "required": True},
        {"name": "Depot", "type": "string", "versions": "1+", "required": True},
        {"name": "Stops", "type": "[]Stop", "versions": "0+", "unique": True, "fields": STOP},
        {"name": "Sender", "type": "Person", "versions": "2+", "required": True, "ignorable": True, "fields": [NAME]},
        alternative("Text", "string", 0),
        alternative("Goods", "Goods", 1, fields=[{"name": "Grams", "type": "int32", "versions": "1+"}]),
        alternative("Flowers", "[]string", 2, since="2+"),
    ],
}
"""Version 1 adds a union of two alternatives. Version 2 adds a third alternative and another key field."""
