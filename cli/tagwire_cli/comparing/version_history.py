"""The history of a message: each version's releases, and its changes since the previous version."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tagwire_cli.comparing.version_diff import FieldChange, VersionDiff, diff_versions

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.frames.releases import Spans
    from tagwire.message import Message


_NAMED: Final = 4
"""The maximum number of fields named per kind of change; `tagwire diff` names all."""
_WORDS: Final = {
    "added": "adds",
    "removed": "without",
    "nullable": "allows null in",
    "not nullable": "no longer allows null in",
    "moved": "moves",
}


@dataclass(frozen=True, slots=True)
class VersionStep:
    """A version of a message, with its releases and its changes since the previous version."""

    version: int
    releases: "Spans"
    """The spans of releases with this version (first and last); empty if the package doesn't list releases."""
    change: str
    """The change since the previous version; empty for the first version."""

    @property
    def redefined(self) -> bool:
        """Whether the bytes of this version differ between releases."""
        return len(self.releases) > 1

    def spans(self) -> str:
        """Format the releases that have this version, such as `3.0 to 3.4, redefined 3.5` if 3.5 changed its bytes."""
        ranges = [first if first == last else f"{first} to {last}" for first, last in self.releases]
        return ", redefined ".join(ranges)

    def as_dict(self) -> dict[str, Any]:
        return {"version": self.version, "releases": [list(span) for span in self.releases], "change": self.change}


def history(registry: "Registry", message: "type[Message]") -> list[VersionStep]:
    """Return a VersionStep for each version of a message, in order."""
    releases = registry.releases(message.NAME)
    steps: list[VersionStep] = []
    for version in message.VERSIONS:
        change = _change(diff_versions(message, version - 1, version)) if steps else ""
        steps.append(VersionStep(version, releases.get(version, ()), change))
    return steps


def _change(difference: VersionDiff) -> str:
    return "; ".join(_changes(difference)) or "the same fields"


def _changes(difference: VersionDiff) -> Iterator[str]:
    if difference.new.flexible and not difference.old.flexible:
        yield "flexible"
    if difference.new.optional_fields and not difference.old.optional_fields:
        yield "optional fields"
    for kind, word in _WORDS.items():
        paths = [change.path for change in difference.changes if kind in _kinds(change)]
        # If a whole struct was added or removed, don't list its fields.
        paths = [path for path in paths if not any(path.startswith(f"{other}.") for other in paths)]
        if paths:
            rest = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
            yield f"{word} {', '.join(paths[:_NAMED])}{rest}"


def _kinds(change: FieldChange) -> list[str]:
    """Return the change's kinds, with `not nullable` instead of `nullable` if nulls are no longer allowed."""
    was_nullable = change.old is not None and change.old.nullable
    return ["not nullable" if kind == "nullable" and was_nullable else kind for kind in change.kinds]
