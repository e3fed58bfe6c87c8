"""Print spec problems and errors, as text with a position and a caret, or as JSON.

The generator formats a problem as text (`tagwire_generator.problems`), and this module adds colors. rich is
imported only for terminals, so that commit hooks stay fast.
"""

import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from tagwire.errors import SpecError, TagwireError
from tagwire.extras import MissingExtraError
from tagwire.text_format import count
from tagwire_cli.output.echo import PREFERENCES, say, say_error
from tagwire_cli.paths import UnreadableFileError, given_name

if TYPE_CHECKING:
    from tagwire_generator.problems import Problem

__all__ = ["count", "is_coloured", "is_terminal", "print_error", "print_json", "print_problems", "summary"]


class _Stream(Protocol):
    def isatty(self) -> bool: ...


class _Graded(Protocol):
    @property
    def severity(self) -> str: ...


_MAGIC_AT = 16
_COLOURS = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}


def print_problems(problems: Sequence["Problem"], *, err: bool) -> None:
    """Print problems with their source lines and carets, separated by blank lines."""
    from tagwire_generator.problems import render

    stream = sys.stderr if err else sys.stdout
    rendered = [given_name(render(problem)) for problem in problems]
    if not is_coloured(stream):
        if rendered:
            say("\n\n".join(rendered), err=err, lines=True)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, soft_wrap=True, highlight=False)
    for number, (problem, text) in enumerate(zip(problems, rendered, strict=True)):
        shown = Text(text)
        colour = _COLOURS[problem.severity]
        shown.stylize("bold", 0, len(problem.file))
        shown.highlight_words([f"{problem.severity} {problem.rule}"], colour)
        if text.endswith("^"):
            shown.stylize(colour, len(text) - 1)
        if number:
            console.print()
        console.print(shown)


def print_json(problems: Sequence["Problem"]) -> None:
    """Print the problems on standard output as a JSON list of {rule, severity, file, line, column, message}."""
    from tagwire_cli.output.tables import write_json  # not at the top, because `tables` imports this module

    write_json([problem.as_dict() for problem in problems])


def print_error(error: TagwireError) -> int:
    """Print an error on standard error and return its exit status.

    If an error suggests a function argument such as `max_keys`, the equivalent option, --max-keys, is printed instead.
    """
    from tagwire.log.errors import LogError
    from tagwire.message.engines import EngineError
    from tagwire_generator.problems import Problem
    from tagwire_generator.project.settings import SettingsError

    problems = [each for each in getattr(error, "problems", ()) if isinstance(each, Problem)]
    if problems:
        print_problems(problems, err=True)
    else:
        location = f"{error.file}:{error.line}:{error.column}: " if isinstance(error, SpecError) and error.line else ""
        text = re.sub(
            r"argument `(\w+)(=True)?`", lambda found: f"--{found[1].replace('_', '-')}", f"{location}{error}"
        )
        if isinstance(error, LogError) and error.rule in ("TWL101", "TWL103") and error.offset <= _MAGIC_AT:
            from shlex import quote

            file = error.file if given_name(error.file) == error.file else "-"
            text = f"{text}; if this is not a log segment, `tagwire explain {quote(file)}` detects what it is"
        say_error(text)
    return 2 if isinstance(error, (EngineError, SettingsError, MissingExtraError, UnreadableFileError)) else 1


def summary(problems: Sequence[_Graded]) -> str:
    """Return a phrase that counts problems or findings, such as `2 errors, 1 warning`, or `no problems`."""
    found = [(severity, sum(each.severity == severity for each in problems)) for severity in _COLOURS]
    return ", ".join(count(number, severity) for severity, number in found if number) or "no problems"


def is_coloured(stream: _Stream | None) -> bool:
    """Return whether to color a stream.

    The option --color decides. Without it, NO_COLOR or FORCE_COLOR decides. Without these, only terminals are colored.
    """
    if PREFERENCES.color != "auto":
        return PREFERENCES.color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal(stream) and os.environ.get("TERM") != "dumb")


def is_terminal(stream: _Stream | None) -> bool:
    """Return whether a stream is a terminal. `sys.stdout` is None if it was closed before Python started."""
    return stream is not None and stream.isatty()
