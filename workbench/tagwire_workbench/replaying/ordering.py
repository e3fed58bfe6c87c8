"""Pair corresponding elements of two arrays: servers list topics, partitions and groups in any order."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tagwire.message.base import Struct
from tagwire.testing.peer.differences import MISSING, by_position

_KEYS: Final = (
    "name",
    "topic",
    "topic_name",
    "topic_id",
    "index",
    "partition",
    "partition_id",
    "partition_index",
    "group_id",
    "member_id",
    "transactional_id",
    "producer_id",
    "node_id",
    "broker_id",
    "api_key",
    "resource_type",
    "resource_name",
    "feature",
    "path",
)
"""Fields that identify an element, unless the field table names the array's keys."""
_ASSIGNED: Final = ("topic_id", "member_id", "producer_id")
"""Keys that each server assigns. Other keys are tried first."""


def by_key(recorded: Sequence[Any], received: Sequence[Any], keys: Sequence[str] = ()) -> list[tuple[Any, Any]]:
    """Pair elements with the same keys; an element that only one side has is paired with MISSING.

    Elements without unique keys are paired by position, and so are arrays of equal length without common keys.
    """
    for names in _choices([*recorded, *received], keys):
        ones, others = ({_key(each, names): each for each in side} for side in (recorded, received))
        are_unique = len(ones) == len(recorded) and len(others) == len(received)
        if are_unique and (ones.keys() & others.keys() or len(ones) != len(others)):
            found = [(one, others.pop(key, MISSING)) for key, one in ones.items()]
            return found + [(MISSING, other) for other in others.values()]
    return list(by_position(recorded, received))


def _choices(elements: Sequence[Any], keys: Sequence[str]) -> Iterator[Sequence[str]]:
    if not all(isinstance(each, Struct) and type(each) is type(elements[0]) for each in elements):
        return
    fields = {row.name for each in elements[:1] for row in each.FIELDS}
    names = keys or [name for name in _KEYS if name in fields]
    yield from filter(None, ([name for name in names if name not in _ASSIGNED], names))


def _key(element: Struct, names: Sequence[str]) -> str:
    return repr([getattr(element, name) for name in names])
