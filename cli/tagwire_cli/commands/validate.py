"""`tagwire validate`: check specs against the spec rules, without generating code."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tagwire.text_format import count
from tagwire_cli.arguments.spec_paths import STDIN, known_near, spec_paths
from tagwire_cli.input.files import read_bytes
from tagwire_cli.output.diagnostics import print_for_programs, print_problems, report_options, summary
from tagwire_cli.output.echo import progress_bar, say
from tagwire_cli.paths import InputPath

if TYPE_CHECKING:
    from tagwire_generator.problems import Problem
    from tagwire_generator.project.options import SpecOptions
    from tagwire_generator.project.settings import Settings


@click.command("validate")
@click.argument("paths", nargs=-1, metavar="[PATH...]", type=InputPath(allow_dash=True, is_text=True))
@report_options
@click.option("--allow-tag-gaps", is_flag=True, help="Allow gaps between tags.")
@click.option(
    "--allow-struct-arrays", is_flag=True, help="Allow optional fields that are arrays of structs (draft dialect)."
)
@click.option(
    "--allow-unanswered-versions", is_flag=True, help="Allow request versions that the response does not have."
)
def command(paths: Sequence[str], output_format: str, **allowed: bool) -> None:
    """Check message specs against the rules of the spec language.

    PATH is a spec, a folder of specs, or - for standard input. Without PATH, all
    spec sets of this project are checked. A folder above spec sets means all of
    these sets. Rules about a folder (API keys, pairs of request and response) apply
    to folders only. Specs of a set in [tool.tagwire] are read with the options of
    the set.

    \b
    Examples:
      tagwire validate message_specs
      tagwire validate FooRequest.json FooResponse.json
      tagwire validate --json - < FooRequest.json
    """
    from tagwire_generator.problems import without_repeats
    from tagwire_generator.project.settings import load_project

    settings = load_project()
    problems: list[Problem] = []
    number = 0
    for name in spec_paths(settings, paths):
        options = _options(settings, name, allowed)
        known = known_near(settings, Path.cwd() if name == STDIN else Path(name), options)
        read, found = _validate(name, options, known)
        number += read
        problems += found
    problems = without_repeats(problems)
    if not print_for_programs(output_format, (each.as_dict() for each in problems), problems):
        print_problems(problems, err=False)
        say(f"{summary(problems)} in {count(number, 'spec')}", err=True)
    if any(problem.severity == "error" for problem in problems):
        raise click.exceptions.Exit(1)


def _options(settings: "Settings", name: str, allowed: Mapping[str, bool]) -> "SpecOptions":
    """Return the options of the spec set that contains the path `name`, plus the options of `--allow-...` flags."""
    from tagwire_generator.project.options import SpecOptions

    options = SpecOptions() if name == STDIN else settings.options_of(Path(name))
    return replace(
        options,
        tag_gaps=options.tag_gaps or allowed["allow_tag_gaps"],
        allow_struct_arrays=options.allow_struct_arrays or allowed["allow_struct_arrays"],
        unanswered_versions=options.unanswered_versions or allowed["allow_unanswered_versions"],
    )


def _validate(name: str, options: "SpecOptions", known: dict[str, Any]) -> tuple[int, list["Problem"]]:
    """Check one spec, or a folder of specs. Return how many specs were checked, and a list of their problems.

    `known` contains the registers and shared structs that the specs may use.
    """
    from tagwire_generator.reading.spec import read_data, read_file

    if name == STDIN:
        data = read_bytes(STDIN, is_hex=False)
        return 1, list(read_data(data, file="standard input", options=options, **known).problems)
    if not Path(name).is_dir():
        return 1, list(read_file(name, options=options, **known).problems)
    return _validate_folder(Path(name), options, known)


def _validate_folder(folder: Path, options: "SpecOptions", known: dict[str, Any]) -> tuple[int, list["Problem"]]:
    from tagwire_generator.model.spec_set_rules import check_set
    from tagwire_generator.project.spec_files import find_specs
    from tagwire_generator.reading.spec import read_file

    specs = find_specs(folder)
    problems: list[Problem] = []
    summaries = []
    registers = 0
    with progress_bar(str(folder)) as progress:
        for number, spec in enumerate(specs, 1):
            result = read_file(spec.path, component=spec.component, options=options, **known)
            problems += result.problems
            summaries += [result.message.summary()] if result.message else []
            registers += result.register is not None
            if progress:
                progress(number, len(specs))
    # Check the set only if all specs could be read. Otherwise, the check would treat an unreadable spec as missing.
    if len(summaries) + registers == len(specs):
        near = known["registers"].values() if summaries else ()
        problems += check_set(summaries, options, [each.summary() for each in near if each])
    return len(specs), problems
