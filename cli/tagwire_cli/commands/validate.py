"""`tagwire validate`: specs against the rules of the language, without generating anything."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire_cli.diagnostics import count, print_json, print_problems, summary

if TYPE_CHECKING:
    from tagwire_generator.options import SpecOptions
    from tagwire_generator.problems import Problem
    from tagwire_generator.settings import Settings

__all__ = ["command"]

_STDIN = "-"


@click.command("validate")
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--allow-tag-gaps", is_flag=True, help="Tags need not count up from 0.")
@click.option("--allow-struct-arrays", is_flag=True, help="Draft dialect: optional fields may be arrays of structs.")
def command(paths: Sequence[str], form: str, allow_tag_gaps: bool, allow_struct_arrays: bool) -> None:
    """Hold message specs against the rules of the spec language.

    PATH is a spec, a folder of specs, or - for a spec on standard input;
    without any, all spec sets of this project are read. The rules about a
    folder (API keys, pairs of request and response) apply to folders only.
    Specs of a set in [tool.tagwire] are read with the options of that set.

    Exit status: 0 without errors (warnings never fail), 1 with, 2 for wrong usage.

    \b
    Examples:
      tagwire validate message_specs
      tagwire validate FooRequest.json FooResponse.json
      tagwire validate --format json - < FooRequest.json
    """
    from tagwire_generator.settings import find_root, load

    settings = load(find_root(Path.cwd()))
    names = paths or [str(spec_set.specs) for spec_set in settings.sets]
    problems: list[Problem] = []
    number = 0
    for name in dict.fromkeys(names):
        options = _options(settings, name, allow_tag_gaps, allow_struct_arrays)
        read, found = _validate(name, options)
        number += read
        problems += found
    if form == "json":
        print_json(problems)
    else:
        print_problems(problems, err=False)
        click.echo(f"{summary(problems)} in {count(number, 'spec')}", err=True)
    if any(problem.severity == "error" for problem in problems):
        raise click.exceptions.Exit(1)


def _options(settings: "Settings", name: str, tag_gaps: bool, struct_arrays: bool) -> "SpecOptions":
    """The options of the set that a path belongs to, and what the command line allows beside them."""
    from tagwire_generator.options import SpecOptions

    spec_set = None if name == _STDIN else settings.set_of(Path(name))
    options = spec_set.options if spec_set else SpecOptions()
    return replace(
        options,
        tag_gaps=options.tag_gaps or tag_gaps,
        allow_struct_arrays=options.allow_struct_arrays or struct_arrays,
    )


def _validate(name: str, options: "SpecOptions") -> tuple[int, list["Problem"]]:
    """How many specs were read, and what is wrong with them."""
    raise NotImplementedError
