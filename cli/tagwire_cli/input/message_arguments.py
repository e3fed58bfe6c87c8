"""Parse the arguments before FILE that identify a message: MESSAGE VERSION or, for a response, API VERSION."""

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tagwire_cli.arguments.options import version_number
from tagwire_cli.arguments.packages import find_message, find_response, require_version
from tagwire_cli.input.files import HEX_ARGUMENT, looks_like_hex
from tagwire_cli.paths import is_file

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message import Message


def message_of(
    registry: "Registry", args: Sequence[str], expected: str = "MESSAGE VERSION"
) -> "tuple[type[Message], int, Sequence[str]]":
    """Parse the arguments MESSAGE VERSION. Return the message class, the version and all further arguments.

    Raises click.UsageError for an unknown message, and for a version that the message doesn't have.
    """
    name, version, rest = _name_and_version(registry, args, expected)
    message = find_message(registry, name)
    require_version(message, version)
    return message, version, rest


def response_of(
    registry: "Registry", args: Sequence[str], expected: str = "API VERSION"
) -> "tuple[type[Message], int, Sequence[str]]":
    """Parse the arguments API VERSION. Return the response class, the version and all further arguments.

    Raises click.UsageError for an unknown API, and for a version that the response doesn't have.
    """
    name, version, rest = _name_and_version(registry, args, expected)
    message = find_response(registry, name)
    # Accept any version if the response has a fallback version for requests in unknown versions.
    if message.FALLBACK is None:
        require_version(message, version)
    return message, version, rest


def example_of(registry: "Registry") -> str:
    """Return a message of the package and a version, such as `MetadataRequest 13`, as an example for usage errors."""
    name = "MetadataRequest" if "MetadataRequest" in registry else registry.names()[0]
    return f"{name} {getattr(registry[name], 'LATEST_STABLE', 0)}"


def _name_and_version(registry: "Registry", args: Sequence[str], expected: str) -> tuple[str, int, Sequence[str]]:
    if len(args) < 2:
        hint = _hint(args)
        if not hint and args and is_file(args[0]):
            hint = f"`tagwire explain {shlex.quote(args[0])}` detects what the input is"
        example = _example(registry, expected)
        raise click.UsageError(f"give {example}.{hint and f' {hint[0].upper()}{hint[1:]}.'}")
    name, version, *rest = args
    try:
        return name, version_number(version), rest
    except click.BadParameter as error:
        error.param_hint = "VERSION"
        # The user may have swapped the arguments, or left out MESSAGE or API.
        error.message += f"; {_hint(args) or f'give {_example(registry, expected)}'}"  # type: ignore[misc]
        raise


def _example(registry: "Registry", expected: str) -> str:
    example = example_of(registry)
    return f"{expected}, such as {example if expected.startswith('MESSAGE') else example.replace('Request ', ' ')}"


def _hint(args: Sequence[str]) -> str:
    """Return a hint if an argument is a file for another command, or if the first argument is hex; otherwise ""."""
    # imported here, so that commands without errors don't load this module
    from tagwire_cli.input.encodings import file_hint

    return file_hint(args) or (HEX_ARGUMENT if args and looks_like_hex(os.fsencode(args[0])) else "")
