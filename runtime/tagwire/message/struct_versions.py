"""Map the versions of a message to the versions of a shared struct that the message uses.

A shared struct has its own versions. Each version of a message uses at most one of them.
"""

from __future__ import annotations

from tagwire.versions import NONE, Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class StructVersions:
    """Maps the versions of a message (or outer struct) to the versions of a shared struct that it contains.

    `ranges` are pairs such as (0-2, 0), (3-5, 1), (6+, 2): versions 0 to 2 of the message use version 0 of the struct.
    The ranges and the struct's versions ascend. There are no gaps between the ranges, and the last range has no end.
    """

    __slots__ = ("ranges",)

    def __init__(self, ranges: Iterable[tuple[Versions, int]]) -> None:
        self.ranges = tuple(ranges)

    @property
    def versions(self) -> Versions:
        """The versions of the message (or outer struct) in which the shared struct may occur."""
        return Versions(self.ranges[0][0].lowest, self.ranges[-1][0].highest) if self.ranges else NONE

    def at(self, version: int | None) -> int | None:
        """Return the version of the shared struct that the message's `version` uses, or None if it uses none."""
        return next((number for versions, number in self.ranges if version in versions), None)

    def within(self, versions: Versions) -> Versions:
        """Return the versions of the message that use one of the struct's `versions`, or `NONE` if there are none."""
        found = [each for each, number in self.ranges if number in versions]
        return Versions(found[0].lowest, found[-1].highest) if found else NONE

    def then(self, inner: StructVersions) -> StructVersions:
        """Combine this map with `inner`, the map of a shared struct inside this struct.

        The result maps versions of the message directly to versions of the inner struct.
        """
        found: list[tuple[Versions, int]] = []
        for versions, number in self.ranges:
            used = inner.at(number)
            if used is None:
                continue
            if found and found[-1][1] == used and found[-1][0].highest + 1 == versions.lowest:
                versions = Versions(found.pop()[0].lowest, versions.highest)
            found.append((versions, used))
        return StructVersions(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructVersions) and self.ranges == other.ranges

    def __hash__(self) -> int:
        return hash(self.ranges)

    def __repr__(self) -> str:
        return f"StructVersions({self.ranges!r})"
