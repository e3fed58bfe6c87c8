"""The command options for the framing of fuzz inputs."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

KINDS: Final = ("request", "response")
_PREFIXES: Final = ("size", "key")

F = TypeVar("F", bound=Callable[..., Any])


def framing_options(function: F) -> F:
    """Add the options `--kind`, `--frames` (as `in_frames`) and `--prefix`."""
    for option in (
        click.option(
            "--prefix",
            type=click.Choice(_PREFIXES),
            help="Each input begins with its size, or with API key and version.",
        ),
        click.option("--frames", "in_frames", is_flag=True, help="Inputs are requests and responses with headers."),
        click.option("--kind", type=click.Choice(KINDS), help="Inputs are messages of this kind only."),
    ):
        function = option(function)
    return function
