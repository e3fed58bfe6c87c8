"""Specs of a message whose fields have enums, and of the registers that define these enums."""

from typing import Any

STATE: dict[str, Any] = {"name": "TaskState", "type": "register", "keys": "int8", "about": "What a task does."} | {
    "entries": [
        {"key": 0, "name": "NEW"},
        {"key": 1, "name": "RUNNING", "description": "A worker has it."},
        {"key": 2, "name": "DONE"},
        {"key": -1, "name": "lost.track"},
    ],
}
KIND: dict[str, Any] = {"name": "TaskKind", "type": "register", "keys": "uint16", "closed": True} | {
    "entries": [{"key": 5, "name": "BATCH"}, {"key": 6, "name": "STREAM"}, {"key": 60000, "name": "PROBE"}],
}
TAGGED = {"versions": "2+", "taggedVersions": "2+", "tag": 0}
HEAD = {"name": "Task", "type": "data", "dialect": "tagwire", "validVersions": "0-2", "flexibleVersions": "2+"}
TASK: dict[str, Any] = HEAD | {
    "fields": [
        {"name": "Id", "type": "int32", "versions": "0+"},
        {"name": "State", "type": "int8", "enum": "TaskState", "versions": "0+"},
        {"name": "Kind", "type": "uint16", "enum": "TaskKind", "versions": "0+", "default": "BATCH"},
        {"name": "Past", "type": "[]int8", "enum": "TaskState", "versions": "1+", "nullableVersions": "2+"},
        {"name": "Kinds", "type": "[]uint16", "enum": "TaskKind", "versions": "1+", "ignorable": True},
        {"name": "Next", "type": "int64", "enum": "TaskState", "default": "RUNNING", **TAGGED},
    ],
}
