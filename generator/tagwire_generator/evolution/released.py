"""The released versions of a message, with which a new spec is compared.

Usually that is one spec. A lock file has more: specs of versions that were dropped since, which must not
return with other bytes, and tags that no spec has any more.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tagwire.versions import NONE, Versions
from tagwire_generator.model import MessageSpec

RetiredTags = Mapping[str, Mapping[int, str]]
"""By the path of a struct ("" is the message), then by tag: the field that had it, such as `TraceId string`."""


@dataclass(frozen=True, slots=True)
class Edition:
    """Versions that no spec has any more, and the last spec that had them."""

    versions: Versions
    spec: MessageSpec


@dataclass(frozen=True, slots=True)
class Released:
    """A message as it was released last, and what is known from before."""

    spec: MessageSpec
    is_gone: bool = False
    """Whether the spec is that of a message which was given up before: its versions are in the archive."""
    archive: tuple[Edition, ...] = ()
    retired_tags: RetiredTags = field(default_factory=dict)


def as_released(
    specs: Mapping[str, MessageSpec | Released] | Iterable[MessageSpec | Released],
) -> list[Released]:
    """The specs of a set, be they given by name or not, with or without a history."""
    given = specs.values() if isinstance(specs, Mapping) else specs
    return [each if isinstance(each, Released) else Released(each) for each in given]


class Stability:
    """Which versions of the messages of a set were not offered yet; those of a response are its request's."""

    def __init__(self, old: Iterable[Released]) -> None:
        specs = (each.spec for each in old)
        self._requests = {(spec.component, spec.api_key): spec for spec in specs if spec.kind == "request"}

    def unstable(self, spec: MessageSpec) -> Versions:
        """The versions of a message that were not offered yet."""
        request = self._requests.get((spec.component, spec.api_key)) if spec.kind == "response" else None
        decides = request or spec
        if not decides.latest_version_unstable:
            return NONE
        return Versions(decides.latest_stable + 1, spec.valid_versions.highest)
