"""The order of elements that say what they are about: servers answer for partitions, topics and groups in any order."""

from typing import Any, Final

from tagwire.message.base import Struct

__all__ = ["in_order_of"]

_KEYS: Final = (
    "name",
    "topic",
    "topic_id",
    "index",
    "partition",
    "partition_index",
    "group_id",
    "member_id",
    "transactional_id",
    "producer_id",
    "node_id",
)
"""Fields that say what an element is about; all that it has count."""


def in_order_of(recorded: Any, received: Any) -> Any:
    """A received struct with its elements in the order of the recorded ones.

    That is done for each array whose elements are about the same things on both sides; others stay as they are.
    """
    if type(recorded) is not type(received):
        return received
    changes = {}
    for row in recorded.FIELDS:
        one, other = getattr(recorded, row.name), getattr(received, row.name)
        new = other
        if isinstance(one, Struct):
            new = in_order_of(one, other)
        elif row.struct is not None and isinstance(one, list | tuple) and isinstance(other, list | tuple):
            new = _sorted(one, other)
        if new is not other:
            changes[row.name] = new
    return received.replace(**changes) if changes else received


def _sorted(recorded: Any, received: Any) -> Any:
    keys = [_key(each) for each in recorded]
    found = {_key(each): each for each in received}
    if len(found) == len(received) and len(keys) == len(found) and set(keys) == set(found):
        received = [found[key] for key in keys]
    return [in_order_of(*pair) for pair in zip(recorded, received, strict=False)] + list(received[len(recorded) :])


def _key(element: Any) -> str:
    """What an element is about, as text: keys of other protocols may be of any type."""
    return repr([getattr(element, name, None) for name in _KEYS])
