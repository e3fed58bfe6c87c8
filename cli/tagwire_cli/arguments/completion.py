"""Shell completion of messages, versions, rules, packages and limits.

click calls these functions while a user types, so they must be fast: they load a message class only to list its
versions. They must not fail either, so they return nothing if the project settings are invalid.

Most commands import this module, so it imports `click.shell_completion` only when a user asks for completions.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

import click

from tagwire.errors import TagwireError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from click.shell_completion import CompletionItem

    from tagwire.frames.registry import Registry

    Items = list[CompletionItem]
    Offer = Callable[[click.Context, click.Parameter, str], Items]


def _files(incomplete: str) -> Items:
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def _quiet(offer: Offer) -> Offer:
    @wraps(offer)
    def safe(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
        try:
            return offer(ctx, param, incomplete)
        except (TagwireError, click.ClickException, OSError):
            return []

    return safe


def _starting(names: Iterable[str], incomplete: str) -> Items:
    """Return the candidates that start with the typed text, ignoring case."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(text) for text in names if text.lower().startswith(incomplete.lower())]


def _names(candidates: Callable[[click.Context], Iterable[str]]) -> Offer:
    """Return a completion function, which offers the `candidates` that start with the typed text."""
    return _quiet(lambda ctx, param, incomplete: _starting(candidates(ctx), incomplete))


messages = _names(lambda ctx: _registry(ctx).names())
"""Completes message names."""
kinds = _names(lambda ctx: _of_classes(ctx, "KIND"))
"""Completes the kinds of messages in the package, such as `request`."""
components = _names(lambda ctx: _of_classes(ctx, "COMPONENT"))
"""Completes the names of the package's components (groups of messages), such as `raft`."""
spec_sets = _names(lambda ctx: _sets())
"""Completes the name of a package that this project generates."""


@_quiet
def versions(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    """Complete the versions of the message given in the argument NAME."""
    # click stops parsing at an option whose value is missing, so the name may also be in the unparsed arguments.
    names = [ctx.params.get("name"), *ctx.args]
    return next((_versions(_registry(ctx), name, incomplete) for name in names if name), [])


@_quiet
def arguments(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    """Complete the arguments MESSAGE (or API), VERSION and FILE."""
    before: tuple[str, ...] = ctx.params.get(param.name or "") or ()
    kind = ctx.params.get("kind")
    if (kind == "request" and ctx.command.name == "decode") or ctx.params.get("request"):
        return _files(incomplete)  # no MESSAGE is needed, because a request's header identifies its message
    if ctx.params.get("requests_file") or ctx.params.get("format_name") or len(before) > 1:
        return _files(incomplete)
    registry = _registry(ctx)
    is_api = ctx.params.get("response") or (kind == "response" and ctx.command.name == "decode")
    if not before:
        apis = [name.removesuffix("Response") for name in registry.names() if name.endswith("Response")]
        found = _starting(apis if is_api else registry.names(), incomplete)
        return found or _files(incomplete)
    return _versions(registry, f"{before[0]}Response" if is_api else before[0], incomplete)


@_quiet
def rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    """Complete rule IDs and show their titles."""
    from click.shell_completion import CompletionItem

    from tagwire.log.errors import RULES as LOG_RULES
    from tagwire_generator.problems import ALL_RULES

    titles = {each.id: each.title for each in ALL_RULES.values()}
    typed = incomplete.upper()
    return [CompletionItem(id, help=title) for id, title in (titles | LOG_RULES).items() if id.startswith(typed)]


@_names
def limits(ctx: click.Context) -> Iterable[str]:
    """Complete the names of input limits, followed by `=`."""
    from tagwire.limits import Limits

    return [f"{name}=" for name in Limits.names()]


@_names
def packages(ctx: click.Context) -> Iterable[str]:
    """Complete the name of a package that this project generates, or that is part of tagwire."""
    from tagwire.frames.known_packages import PUBLIC_PACKAGES

    return dict.fromkeys([*_sets(), *PUBLIC_PACKAGES])


def _registry(ctx: click.Context) -> Registry:
    from tagwire_cli.arguments.packages import find_registry

    return find_registry(ctx.params.get("package"))


def _versions(registry: Registry, name: str, incomplete: str) -> Items:
    found = registry[name]
    numbers = () if found.KIND == "format" else map(str, found.VERSIONS)
    return _starting(numbers, incomplete)


def _of_classes(ctx: click.Context, attribute: str) -> list[str]:
    registry = _registry(ctx)
    return sorted({getattr(registry[name], attribute, "") for name in registry} - {""})


def _sets() -> list[str]:
    from tagwire_generator.project.settings import load_project

    return [each.package for each in load_project().sets]
