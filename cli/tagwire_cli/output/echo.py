"""Print text safely: untrusted names, paths and values can't send control codes or fake tagwire's lines.

A folder may be called `\\x1b[2J`, or its name may contain a line break and a fake
finding. So `say` prints all text, and escapes unprintable characters. Exact bytes are
printed by `tagwire_cli.output.tables.write_bytes`.
"""

import sys
from dataclasses import dataclass
from typing import Final

import click

from tagwire.text_format import printable
from tagwire_cli.paths import given_name


@dataclass
class Preferences:
    """The global options of this call."""

    quiet: bool = False
    verbose: bool = False
    color: str = "auto"
    """always, never, or auto: on a terminal, unless NO_COLOR or FORCE_COLOR is set."""


PREFERENCES: Final = Preferences()


def say(text: object = "", *, err: bool = False, lines: bool = False) -> None:
    """Print a line. With `err`, print on standard error unless --quiet; with `lines`, keep line breaks and tabs."""
    if err and PREFERENCES.quiet:
        return
    click.echo(printable(given_name(str(text)), keep="\n\t" if lines else ""), err=err)


def say_verbose(text: object) -> None:
    """Print a line on standard error, only with --verbose."""
    if PREFERENCES.verbose:
        say(text, err=True)


def say_error(error: object) -> None:
    """Print an error on standard error. Further lines are indented, so that none looks like a line of tagwire."""
    first, *more = given_name(str(error)).split("\n")
    for line in (f"tagwire: {first}", *(f"    {line}" for line in more)):
        click.echo(printable(line, keep="\t"), err=True)


def say_patch(text: str) -> None:
    """Print a unified diff unchanged; on a terminal, unprintable characters are escaped."""
    is_watched = sys.stdout is not None and sys.stdout.isatty()
    click.echo(printable(text, keep="\n\t") if is_watched else text, nl=False)


def shown_value(value: object) -> object:
    """Escape a value for a page: the `finalize` of jinja2, which is called for every value."""
    return printable(value, keep="\n\t") if type(value) is str else value  # tagwire's own Markup is not escaped
