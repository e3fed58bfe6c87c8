"""Print text safely, so that untrusted names, paths and values can't send control codes or imitate tagwire's lines.

A folder may be called `\\x1b[2J`, or its name may contain a line break and a fake finding. So all text is printed by
`say`, which escapes unprintable characters. `tagwire_cli.output.tables.write_bytes` prints bytes unchanged.
"""

import sys
from typing import Final

import click

from tagwire.text_format import printable
from tagwire_cli.paths import given_name


class Preferences:
    """The global options of this run of `tagwire`."""

    quiet: bool = False
    verbose: bool = False
    color: str = "auto"
    """When to use colors: always, never, or auto (on terminals; NO_COLOR and FORCE_COLOR override this)."""


PREFERENCES: Final = Preferences()


def say(text: object = "", *, err: bool = False, lines: bool = False) -> None:
    """Print a line, with unprintable characters escaped.

    With `err`, print to standard error, unless --quiet is given. With `lines`, keep line breaks and tabs.
    """
    if err and PREFERENCES.quiet:
        return
    click.echo(printable(given_name(str(text)), keep="\n\t" if lines else ""), err=err)


def say_verbose(text: object) -> None:
    """Print a line on standard error if --verbose is given."""
    if PREFERENCES.verbose:
        say(text, err=True)


def say_error(error: object) -> None:
    """Print an error on standard error. Lines after the first are indented, so they can't be taken for other output."""
    first, *more = given_name(str(error)).split("\n")
    for line in (f"tagwire: {first}", *(f"    {line}" for line in more)):
        click.echo(printable(line, keep="\t"), err=True)


def say_patch(text: str) -> None:
    """Print a unified diff. Unprintable characters are escaped on a terminal, but not in a file or pipe."""
    is_watched = sys.stdout is not None and sys.stdout.isatty()
    # `color=True` prevents click from removing escape sequences that the files contain.
    click.echo(printable(text, keep="\n\t") if is_watched else text, nl=False, color=True)


def shown_value(value: object) -> object:
    """Escape unprintable characters in a string for an HTML page. jinja2 calls this for every value."""
    # Values of other types are markup that tagwire wrote.
    return printable(value, keep="\n\t") if type(value) is str else value
