"""Version ranges, used by specs, layouts and generated classes.

`3` and `3-3` are the same range; the empty range is `NONE`. `N+` ends at 32767, the highest int16, as in Kafka's specs.
`StructVersions` maps the versions of a message to the versions of a shared struct that the message contains.
"""

from __future__ import annotations

from tagwire.errors import VersionsError
from tagwire.lazy import FrozenData

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

__all__ = ["HIGHEST", "NONE", "StructVersions", "Versions"]

HIGHEST: Final = 32767


class Versions:
    """A range of versions, including both ends. Immutable and hashable.

    `str()` returns the canonical string (`none`, `N`, `N+`, `N-M`), which `Versions.parse` can read again.
    """

    __slots__ = ("highest", "lowest")
    __match_args__ = ("lowest", "highest")

    lowest: int
    """The lowest version, or 0 in the empty range."""
    highest: int
    """The highest version, or -1 in the empty range."""

    def __init__(self, lowest: int, highest: int) -> None:
        """The range is empty if `lowest > highest`. Raises VersionsError if a bound is not an int from 0 to 32767."""
        if not (isinstance(lowest, int) and isinstance(highest, int)):
            found = f"{type(lowest).__name__} and {type(highest).__name__}"
            raise VersionsError(f"versions: expected two ints, got values of type {found}")
        lowest, highest = int(lowest), int(highest)  # a bool or an enum member becomes an int
        if lowest > highest:
            lowest, highest = 0, -1
        elif lowest < 0 or highest > HIGHEST:
            raise VersionsError(f"versions {lowest} to {highest} are not within 0 to {HIGHEST}")
        object.__setattr__(self, "lowest", lowest)
        object.__setattr__(self, "highest", highest)

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Parse `none`, `N`, `N+` or `N-M`, with N and M from 0 to 32767. Leading and trailing blanks are ignored.

        `3-1` is the empty range. Raises VersionsError for anything else.
        """
        bare = text.strip()
        if bare == "none":
            return NONE
        low, dash, high = bare.partition("-")
        if not dash and low.endswith("+"):
            low, high = low[:-1], str(HIGHEST)
        elif not dash:
            high = low
        if not (_is_number(low) and _is_number(high)):
            raise VersionsError(
                f"expected a version range ('none', 'N', 'N+' or 'N-M', numbers from 0 to {HIGHEST}), got {text!r}"
            )
        return cls(int(low), int(high))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))

    def __len__(self) -> int:
        return self.highest - self.lowest + 1

    def __bool__(self) -> bool:
        return self.highest >= 0

    def __and__(self, other: Versions) -> Versions:
        return Versions(max(self.lowest, other.lowest), min(self.highest, other.highest))

    def __sub__(self, other: Versions) -> Versions:
        """Return the versions that are not in `other`. Raises VersionsError if the result would be two ranges."""
        common = self & other
        if not common:
            return self
        if self.lowest < common.lowest and common.highest < self.highest:
            raise VersionsError(
                f"removing versions {other} from {self} leaves two ranges, which Versions can't represent"
            )
        if self.lowest < common.lowest:
            return Versions(self.lowest, common.lowest - 1)
        return Versions(common.highest + 1, self.highest)

    def __le__(self, other: Versions) -> bool:
        """Return whether all versions of this range are also in `other`."""
        return not self or (other.lowest <= self.lowest and self.highest <= other.highest)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Versions):
            return NotImplemented
        return self.lowest == other.lowest and self.highest == other.highest

    def __hash__(self) -> int:
        return hash((self.lowest, self.highest))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Versions are immutable; {name} can't be set")

    def __reduce__(self) -> tuple[type[Versions], tuple[int, int]]:
        return Versions, (self.lowest, self.highest)

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.highest == HIGHEST:
            return f"{self.lowest}+"
        if self.lowest == self.highest:
            return str(self.lowest)
        return f"{self.lowest}-{self.highest}"

    def __repr__(self) -> str:
        return f"Versions.parse({str(self)!r})"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= HIGHEST


NONE: Final = Versions(0, -1)


class StructVersions(FrozenData):
    """Maps the versions of a message (or outer struct) to the versions of a shared struct that it contains.

    `ranges` are pairs such as (0-2, 0), (3-5, 1), (6+, 2): versions 0 to 2 of the message use version 0 of the struct.
    The ranges and the struct's versions ascend. There are no gaps between the ranges, and the last range has no end.
    """

    ranges: tuple[tuple[Versions, int], ...] = ()

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
        return StructVersions(tuple(found))
