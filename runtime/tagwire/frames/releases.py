"""Find out which releases contain which versions of a message.

A package whose specs came from several releases has a generated module `releases`, with a string for each message:

    "0-1 2.4.1 3.9.2; 2 2.4.1 4.4.0"

Each entry has a version range, then the first and last release in which these versions have the same definition. If
a version occurs in two entries, its definition was changed between these two spans of releases.
"""

from __future__ import annotations

from tagwire.versions import Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

Spans = tuple[tuple[str, str], ...]
"""Spans of releases, as (first, last), oldest first. Within a span, a message version's definition stays the same."""


def releases_text(versions: Mapping[int, Spans]) -> str:
    """Return the release history of a message as a string.

    Consecutive versions that occur in the same releases form a range.
    """
    runs: list[tuple[int, int, Spans]] = []
    for version, spans in sorted(versions.items()):
        if runs and runs[-1][1] == version - 1 and runs[-1][2] == spans:
            runs[-1] = (runs[-1][0], version, spans)
        else:
            runs.append((version, version, spans))
    return "; ".join(f"{Versions(low, high)} {first} {last}" for low, high, spans in runs for first, last in spans)


def parse_releases(text: str) -> dict[int, Spans]:
    """Parse a string made by `releases_text`. Return a dict from versions to spans of releases (see `Spans`)."""
    found: dict[int, Spans] = {}
    for part in text.split("; "):
        versions, first, last = part.split(" ")
        for version in Versions.parse(versions):
            found[version] = (*found.get(version, ()), (first, last))
    return found
