"""The message classes of a package, by name and by API key, and the releases that have their versions.

The modules of messages are imported on first use. A package whose specs came from several releases also has a generated
module `releases`, with a string for each message:

    "0-1 2.4.1 3.9.2; 2 2.4.1 4.4.0"

Each entry has a version range, then the first and last release in which these versions have the same definition. If
a version occurs in two entries, its definition was changed between these two spans of releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from sys import modules

from tagwire.errors import TagwireError
from tagwire.lazy import no_attribute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tagwire._engine import FramePlan
    from tagwire.message.base import Message

Index = dict[str, tuple[str, str, "int | None", str]]
"""A dict from message names to tuples: the name of the message's module, and its KIND, API_KEY and COMPONENT."""
Spans = tuple[tuple[str, str], ...]
"""Spans of releases, as (first, last), oldest first. Within a span, a message version's definition stays the same."""


class UnknownMessageError(TagwireError, LookupError):
    """Raised if the registry has no message with this name, API key or record type."""


class MessageIndex:
    """The message classes of one package. Iterating yields their names, sorted.

    `aliases` are older names of messages: `registry[alias]`, `alias in registry` and attributes of the package accept
    them, but `names()` and iteration leave them out. `registers` maps the names of the package's enums to their
    modules, and `structs` maps the names of structs that several messages share to their modules.
    """

    def __init__(
        self,
        package: str,
        index: Index,
        *,
        aliases: dict[str, str] | None = None,
        registers: dict[str, str] | None = None,
        structs: dict[str, str] | None = None,
    ) -> None:
        self.package = package
        self.registers = registers or {}
        self.structs = structs or {}
        self._index = index
        self._aliases = aliases or {}
        self._classes: dict[str, type[Message]] = {}
        self._by_key: dict[tuple[str, str, int], str] = {}
        self._request_writers: dict[Any, FramePlan] = {}
        self._request_readers: dict[Any, FramePlan] = {}
        self._response_writers: dict[Any, FramePlan] = {}
        self._response_readers: dict[Any, FramePlan] = {}
        for name, (_, kind, api_key, component) in index.items():
            if api_key is not None:
                self._by_key[kind, _scope(kind, component), api_key] = name

    def names(self) -> list[str]:
        return sorted(self._index)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, name: object) -> bool:
        return name in self._index or name in self._aliases

    def is_format(self, name: str) -> bool:
        return name in self._index and self._index[name][1] == "format"

    def __getitem__(self, name: str) -> type[Message]:
        """Return the message class with this name or alias. Raises UnknownMessageError if there is none."""
        found = self._classes.get(name)
        if found is None:
            found = self._classes[name] = self._imported(self._aliases.get(name, name))
        return found

    def _imported(self, name: str) -> type[Message]:
        if name not in self._index:
            from tagwire.text_format import near

            raise UnknownMessageError(f"{self.package} has no message {name!r}{near(name, list(self._index))}")
        module = import_module(f"{self.package}.{self._index[name][0]}")
        found: type[Message] = getattr(module, name)
        return found

    def attribute(self, name: str) -> Any:
        """Import and return an attribute of the package: a module, message class, enum, shared struct, or `ApiKey`.

        `__getattr__` of generated packages calls this, once per name. Raises AttributeError for an unknown name.
        """
        found = self._attribute(name)
        if self.package in modules:
            setattr(modules[self.package], name, found)
        return found

    def _attribute(self, name: str) -> Any:
        if name in self:
            return self[name]
        if name == "ApiKey":
            return import_module(f"{self.package}.api_key").ApiKey
        others = {**self.registers, **self.structs}
        if name in others:
            return getattr(import_module(f"{self.package}.{others[name]}"), name)
        if name in others.values() or any(module == name for module, *_ in self._index.values()):
            return import_module(f"{self.package}.{name}")
        if name == "errors" and (errors := getattr(self, name, None)) is not None:
            return errors
        raise no_attribute(self.package, name)

    def request(self, api_key: int) -> type[Message]:
        """Return the request class of an API. Raises UnknownMessageError for an unknown API key."""
        return self.find("request", api_key)

    def response(self, api_key: int) -> type[Message]:
        """Return the response class of an API. Raises UnknownMessageError for an unknown API key."""
        return self.find("response", api_key)

    def find(self, kind: str, api_key: int, component: str = "") -> type[Message]:
        """Return the message class of this kind and API key. Raises UnknownMessageError if there is none.

        Records also need a `component`, such as "group" or "share", because different components use the same keys.
        """
        key = kind, _scope(kind, component), api_key
        name = self._by_key.get(key) if isinstance(api_key, int) else None  # 9.0 equals the key 9
        if name is None:
            from tagwire.text_format import got, shown

            where = f" of component {component!r}" if component else ""
            keys = self.keys(kind, component)
            key_text = f"API key {shown(api_key)}" if isinstance(api_key, int) else f"{got(api_key)} as API key"
            raise UnknownMessageError(f"{self.package} has no {kind}{where} with {key_text}; known API keys: {keys}")
        return self[name]

    def keys(self, kind: str, component: str = "") -> str:
        """List the API keys that `find` accepts, as text for error messages."""
        from tagwire.text_format import ranges

        scope = _scope(kind, component)
        return ranges(sorted(key for k, s, key in self._by_key if k == kind and s == scope))

    def releases(self, name: str) -> dict[int, Spans]:
        """Return, for each version of a message, the releases that have this version: see `Spans`.

        The result is empty if the package's specs do not come from releases. Raises UnknownMessageError if the package
        has no such message.
        """
        name = self[name].NAME
        try:
            module = import_module(f"{self.package}.releases")
        except ModuleNotFoundError:
            return {}
        releases: dict[str, str] = module.RELEASES
        return parse_releases(releases[name]) if name in releases else {}

    def aliases(self) -> dict[str, str]:
        return dict(self._aliases)


def _scope(kind: str, component: str) -> str:
    return "" if kind in ("request", "response") else component


def releases_text(versions: Mapping[int, Spans]) -> str:
    """Return the release history of a message as a string.

    Consecutive versions that occur in the same releases form a range.
    """
    from tagwire.versions import Versions

    runs: list[tuple[int, int, Spans]] = []
    for version, spans in sorted(versions.items()):
        if runs and runs[-1][1] == version - 1 and runs[-1][2] == spans:
            runs[-1] = (runs[-1][0], version, spans)
        else:
            runs.append((version, version, spans))
    return "; ".join(f"{Versions(low, high)} {first} {last}" for low, high, spans in runs for first, last in spans)


def parse_releases(text: str) -> dict[int, Spans]:
    """Parse a string made by `releases_text`. Return a dict from versions to spans of releases (see `Spans`)."""
    from tagwire.versions import Versions

    found: dict[int, Spans] = {}
    for part in text.split("; "):
        versions, first, last = part.split(" ")
        for version in Versions.parse(versions):
            found[version] = (*found.get(version, ()), (first, last))
    return found
