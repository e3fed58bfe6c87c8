"""The history of archived specs: the releases that have each message version, and digests of the version's bytes.

The history is a file next to the specs, with one line per version:

    [clients.ConsumerGroupHeartbeatRequest]
    0 = ["3.5.2 to 3.6.2: 0b2f5a...", "3.7.2 to 4.4.0: 9c1e77..."]

A span is a range of releases in which a version has the same wire format. A version has several spans if it was
redefined, or if releases in between don't have it. The archived spec of a version comes from the last release of its
last span. A digest represents the wire format (`wire_facts`). At the end, the file lists the layouts of redefined
versions.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tagwire.errors import SpecError

HISTORY_FILE: Final = "history.toml"
"""Name of the history file, which is in the folder of the specs."""

_PREAMBLE: Final = """\
# The releases that have each version of each message, and a digest of the version's encoding.
# Written by `tagwire import` with the specs, and checked by tests; do not edit.
"""
_VERSION: Final = re.compile(r"[0-9]{1,5}")
_SPAN: Final = re.compile(r"(?P<first>\S+?)(?: to (?P<last>\S+?))?: (?P<digest>[0-9a-f]{16})")


def release_order(name: str) -> tuple[object, ...]:
    """Return the sort key of a release name: `3.10.0` comes after `3.9.2`, and `4.0.0-rc1` before `4.0.0`."""
    numbers, dash, rest = name.partition("-")
    return _words(numbers), not dash, _words(rest), name


def _words(text: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key for a release name: numbers compare by value, and words such as `rc` come before numbers."""
    parts: list[tuple[int, str]] = []
    for part in re.findall(r"[0-9]+|[^0-9.]+", text):
        parts.append((int(part), "") if part.isdecimal() else (-1, part))
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class ReleaseSpan:
    """Consecutive releases in which a message version has the same wire format."""

    first: str
    last: str
    digest: str
    layout: str = ""
    """The layout as text, or "" if the version was never redefined.

    Fields have the names from the last release of the span.
    """

    def __str__(self) -> str:
        releases = self.first if self.first == self.last else f"{self.first} to {self.last}"
        return f"{releases}: {self.digest}"


@dataclass(frozen=True, slots=True)
class MessageHistory:
    """For each version of a message, its spans (ranges of releases), in the order of releases."""

    versions: Mapping[int, tuple[ReleaseSpan, ...]]

    @property
    def redefined(self) -> tuple[int, ...]:
        """The versions whose bytes are not the same in all releases."""
        return tuple(v for v, spans in self.versions.items() if len({span.digest for span in spans}) > 1)


@dataclass(frozen=True, slots=True)
class History:
    """The histories of all messages, by component and name."""

    messages: Mapping[tuple[str, str], MessageHistory]

    def __str__(self) -> str:
        blocks = [_PREAMBLE]
        for (component, name), message in sorted(self.messages.items()):
            lines = [f"[{component}.{name}]"]
            for version, spans in sorted(message.versions.items()):
                quoted = [f'"{span}"' for span in spans]
                lines.append(f"{version} = {quoted[0] if len(quoted) == 1 else '[' + ', '.join(quoted) + ']'}")
            blocks.append("\n".join(lines) + "\n")
        layouts = sorted({f'"{span.digest}" = "{span.layout}"\n' for span in self._redefined()})
        if layouts:
            blocks.append("# Encodings of versions that were redefined.\n[layouts]\n" + "".join(layouts))
        return "\n".join(blocks)

    def _redefined(self) -> Iterator[ReleaseSpan]:
        """For each layout of a redefined version, yield the latest range of releases that have this layout."""
        found: dict[str, ReleaseSpan] = {}
        for _, message in sorted(self.messages.items()):
            for version in message.redefined:
                for span in message.versions[version]:
                    known = found.get(span.digest)
                    if known is None or release_order(known.last) < release_order(span.last):
                        found[span.digest] = span
        yield from found.values()


def read_history(path: Path) -> History:
    """Read a history file. Raises SpecError for a file that `History` did not write."""
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
        # Subtables of the table "layouts" are not layouts, but messages of a component named "layouts".
        layouts = {key: text for key, text in tables.get("layouts", {}).items() if isinstance(text, str)}
        messages = {
            (component, name): _message(table, layouts)
            for component, members in tables.items()
            for name, table in members.items()
            if component != "layouts" or name not in layouts
        }
    except OSError as error:
        raise SpecError(f"{path} can't be read: {error.strerror}", file=str(path)) from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise SpecError(
            f"{path} was not written by `tagwire import`: {error}; import the specs again", file=str(path)
        ) from None
    return History(messages)


def _message(table: Mapping[str, Any], layouts: Mapping[str, str]) -> MessageHistory:
    versions: dict[int, tuple[ReleaseSpan, ...]] = {}
    for version, releases in table.items():
        spans = tuple(_span(text, layouts) for text in ([releases] if isinstance(releases, str) else releases))
        if not _VERSION.fullmatch(version) or not spans:
            raise ValueError(f"expected a version number and its releases, got {version} = {releases!r}")
        versions[int(version)] = spans
    return MessageHistory(versions)


def _span(text: str, layouts: Mapping[str, str]) -> ReleaseSpan:
    match = _SPAN.fullmatch(text)
    if match is None:
        raise ValueError(f"expected two releases and a hash, such as '3.5.2 to 3.6.2: 0123456789abcdef', got {text!r}")
    digest = match["digest"]
    return ReleaseSpan(match["first"], match["last"] or match["first"], digest, layouts.get(digest, ""))
