"""Group versions into runs, so that each run gets one finding."""

from collections.abc import Iterable, Iterator

from tagwire.versions import Versions


def runs(versions: Iterable[int]) -> Iterator[Versions]:
    """Yield the ranges without gaps that hold exactly these versions, ascending."""
    lowest = highest = -1
    for version in sorted(versions):
        if version != highest + 1 or highest < 0:
            if highest >= 0:
                yield Versions(lowest, highest)
            lowest = version
        highest = version
    if highest >= 0:
        yield Versions(lowest, highest)
