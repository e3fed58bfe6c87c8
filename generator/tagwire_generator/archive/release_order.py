"""The order of releases: by their numbers, not by their letters."""

import re

__all__ = ["release_order"]


def release_order(name: str) -> tuple[object, ...]:
    """What the names of releases are sorted by: `3.10.0` comes after `3.9.2`, and `4.0.0-rc1` before `4.0.0`."""
    numbers, dash, rest = name.partition("-")
    parts = tuple(int(number) for number in re.findall(r"\d+", numbers))
    return parts, not dash, rest
