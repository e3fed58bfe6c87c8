"""The options that commands of every kind share: which package is meant, and how much input is taken."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tagwire_cli.arguments import completion
from tagwire_cli.arguments.numbers import whole_number

if TYPE_CHECKING:
    from tagwire.limits import Limits

__all__ = ["limit_option", "limits_of", "package_option"]

F = TypeVar("F", bound=Callable[..., Any])


def package_option(function: F) -> F:
    """The option `--package`, whose value `find_registry` takes."""
    return click.option(
        "--package",
        metavar="NAME",
        shell_complete=completion.packages,
        help="The generated package; by default the first set of [tool.tagwire], else tagwire_messages.",
    )(function)


def limit_option(function: F) -> F:
    """The option `--limit`, whose values `limits_of` takes."""
    return click.option(
        "--limit",
        "limits",
        multiple=True,
        metavar="NAME=N",
        shell_complete=completion.limits,
        help="Refuse input beyond a limit (bytes, depth, elements, records, decompressed_bytes ...); may be repeated.",
    )(function)


def limits_of(texts: Sequence[str]) -> "Limits":
    """The limits of `NAME=N` texts. Raises click.BadParameter."""
    from tagwire.limits import Limits

    values: dict[str, int] = {}
    for text in texts:
        name, _, value = text.partition("=")
        number = whole_number(value)
        if name not in Limits.__slots__ or number is None:
            known = ", ".join(Limits.__slots__)
            raise click.BadParameter(f"{text!r} is no NAME=N with a name of {known}", param_hint="--limit")
        values[name] = number
    return Limits(**values)
