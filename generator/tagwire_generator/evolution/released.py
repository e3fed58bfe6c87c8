"""The released versions of a message, for comparison with a new spec.

Usually these are the versions of one spec. A lock file also contains retired tags and dropped versions. If a spec
adds a dropped version again, the version's bytes must be the same as before.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tagwire.versions import NONE, Versions
from tagwire_generator.model import MessageSpec

RetiredTags = Mapping[str, Mapping[int, str]]
"""Maps a struct's path ("" for the message) and a tag to the name and type of the field that had this tag.

For a tag that was only reserved, the value is "".
"""


@dataclass(frozen=True, slots=True)
class Edition:
    """Versions that were dropped from a message, and the last spec that contained them."""

    versions: Versions
    spec: MessageSpec


@dataclass(frozen=True, slots=True)
class Released:
    """The last released spec of a message, and its history."""

    spec: MessageSpec
    is_retired: bool = False
    """Whether the message was removed earlier. If it was, `archive` contains all of its versions."""
    archive: tuple[Edition, ...] = ()
    retired_tags: RetiredTags = field(default_factory=dict)


def as_released(
    specs: Mapping[str, MessageSpec | Released] | Iterable[MessageSpec | Released],
) -> list[Released]:
    """Convert specs without a history to `Released`, and return `Released` objects unchanged."""
    given = specs.values() if isinstance(specs, Mapping) else specs
    return [each if isinstance(each, Released) else Released(each) for each in given]


class Stability:
    """Determines which version of a message is unstable: the latest, if the spec sets `latestVersionUnstable`.

    For a response, the spec of its request decides.
    """

    def __init__(self, old: Iterable[Released]) -> None:
        specs = (each.spec for each in old)
        self._requests = {(spec.component, spec.api_key): spec for spec in specs if spec.kind == "request"}

    def unstable(self, spec: MessageSpec) -> Versions:
        request = self._requests.get((spec.component, spec.api_key)) if spec.kind == "response" else None
        decides = request or spec
        if not decides.latest_version_unstable:
            return NONE
        return Versions(decides.latest_stable + 1, spec.valid_versions.highest)
