"""Rules that involve several fields. Generated serializers call these functions."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


def breaks_union(unknown_tags: Mapping[int, bytes], *alternatives: Any) -> bool:
    """Return whether a union is broken: several alternatives are set, or none is set and there are no unknown tags."""
    present = len(alternatives) - alternatives.count(None)
    return present > 1 or not (present or unknown_tags)


def has_twins(elements: Iterable[Any] | None, *keys: str) -> bool:
    """Return whether any two elements have the same values in all of the attributes named in `keys`."""
    if elements is None:
        return False
    all_keys = [tuple([getattr(element, key) for key in keys]) for element in elements]
    return len(set(all_keys)) != len(all_keys)
