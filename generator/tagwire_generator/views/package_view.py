"""The data about a package for its templates: messages and API keys."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tagwire.frames.releases import releases_text
from tagwire.text_format import count
from tagwire_generator.model import MessageSummary
from tagwire_generator.model.python_names import snake_case
from tagwire_generator.project.history import History
from tagwire_generator.project.spec_files import HEADER_NAMES
from tagwire_generator.views.docstrings import prose
from tagwire_generator.views.imports import Imports

__all__ = ["RUNTIME_LEVEL", "MessageEntry", "PackageView", "package_view"]

RUNTIME_LEVEL = 2
"""The level of the runtime that generated code requires; see `tagwire.message.level`."""


@dataclass(frozen=True)
class MessageEntry:
    """The entry of a message in the package's index."""

    name: str
    module: str
    kind: str
    api_key: str
    component: str


@dataclass(frozen=True)
class PackageView:
    """The contents of the package's own modules, which don't belong to a single message."""

    package: str
    doc: str
    marker_doc: str
    level: int
    registry: str
    """The type of the package's registry, which includes the classes of its headers."""
    type_imports: tuple[str, ...]
    """Import statements for the registry type."""
    messages: tuple[MessageEntry, ...]
    """The messages by name. Messages without versions have no class and are left out."""
    aliases: tuple[tuple[str, MessageEntry], ...]
    """Older names with their messages, sorted by older name."""
    registers: tuple[tuple[str, str], ...]
    """Class and module of each register, sorted by class."""
    structs: tuple[tuple[str, str], ...]
    """Class and module of each shared struct, sorted by class."""
    api_keys: tuple[tuple[str, int], ...]
    """Enum name and API key of each request, sorted by key."""
    api_key_docs: Mapping[str, str]
    """The first sentence of the description of each request that has one, by enum name."""
    releases: tuple[tuple[str, str], ...]
    """Each message with its history (`tagwire.frames.releases`). Empty if the specs have no history."""
    releases_doc: str


def package_view(
    summaries: Sequence[MessageSummary], registers: Sequence[str], package: str, history: History | None = None
) -> PackageView:
    """Return the view of a package with these messages and registers. `history` is the history of the specs, if any."""
    there = sorted((each for each in summaries if each.valid_versions != "none"), key=lambda each: each.name)
    present = [each for each in there if each.kind != "struct"]
    keys = sorted(
        (
            each.api_key,
            snake_case(each.name.removesuffix("Request") or each.name).upper(),
            prose(each.about.partition(". ")[0] + "." * (". " in each.about)),
        )
        for each in present
        if each.kind == "request" and each.api_key is not None
    )
    entries = {
        each.name: MessageEntry(each.name, snake_case(each.name), each.kind, repr(each.api_key), each.component)
        for each in present
    }
    types = Imports([*registers, *(name for each in there for name in (each.name, *each.aliases))])
    return PackageView(
        package=package,
        doc=f"{package}: {_counted(present)}.",
        marker_doc=f"Serializers of {package}, a module for each message.",
        level=RUNTIME_LEVEL,
        registry=_registry(entries, types),
        type_imports=tuple(line for group in types.groups for line in group),
        messages=tuple(entries.values()),
        aliases=tuple(sorted((alias, entries[each.name]) for each in present for alias in each.aliases)),
        registers=tuple((name, snake_case(name)) for name in sorted(registers)),
        structs=tuple((each.name, snake_case(each.name)) for each in there if each.kind == "struct"),
        api_keys=tuple((name, key) for key, name, _ in keys),
        api_key_docs={name: doc for _, name, doc in keys if doc},
        releases=tuple(_releases(entries, history)) if history else (),
        releases_doc=f"Which releases have which versions of the messages of {package}: see `tagwire.frames.releases`.",
    )


def _registry(names: Collection[str], types: Imports) -> str:
    headers = [name if name in names else "" for name in HEADER_NAMES.values()]
    registry = types.use("tagwire", "Registry")
    if not any(headers):
        return registry
    return f"{registry}[{', '.join(name or types.use('typing', 'Any') for name in headers)}]"


def _counted(present: Sequence[MessageSummary]) -> str:
    formats = sum(each.kind == "format" for each in present)
    parts = [count(len(present) - formats, "message")] if formats < len(present) or not formats else []
    return " and ".join([*parts, count(formats, "record format")] if formats else parts)


def _releases(entries: Mapping[str, MessageEntry], history: History) -> Iterator[tuple[str, str]]:
    for (component, name), message in sorted(history.messages.items(), key=lambda row: row[0][1]):
        if name in entries and entries[name].component == component:
            spans = {
                version: tuple((span.first, span.last) for span in found) for version, found in message.versions.items()
            }
            yield name, releases_text(spans)
