"""Which version of a shared struct each version of its user has.

A shared struct has versions of its own, so that a change of it reaches a user
only in the versions that ask for it. The same ranges serve two questions: which
version to expand (`at`), and which of the user's versions have a field of the
struct (`within`).
"""

from __future__ import annotations

from tagwire.versions import NONE, Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class StructVersions:
    """Ascending ranges of the user's versions without a gap, the last one open, each with a version of the struct.

    The struct's versions ascend too, so that what is one range of them is one range of the user's.
    """

    __slots__ = ("ranges",)

    def __init__(self, ranges: Iterable[tuple[Versions, int]]) -> None:
        self.ranges = tuple(ranges)

    @property
    def versions(self) -> Versions:
        """The user's versions that can have the struct."""
        return Versions(self.ranges[0][0].lowest, self.ranges[-1][0].highest) if self.ranges else NONE

    def at(self, version: int | None) -> int | None:
        """The struct's version in a version of the user; None where that can't have the struct."""
        return next((number for versions, number in self.ranges if version in versions), None)

    def within(self, versions: Versions) -> Versions:
        """The user's versions in which the struct has one of these versions; an open range stays open."""
        found = [each for each, number in self.ranges if number in versions]
        return Versions(found[0].lowest, found[-1].highest) if found else NONE

    def then(self, inner: StructVersions) -> StructVersions:
        """The versions of what the struct itself uses, by the user's versions."""
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
