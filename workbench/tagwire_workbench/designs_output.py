"""Read specs for the `lint` and `collide` commands, and print their findings in the format of spec errors."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tagwire.text_format import count
from tagwire_cli.output.diagnostics import of_problem, print_github, print_problems, print_sarif, summary
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import write_json

if TYPE_CHECKING:
    from tagwire_generator.model import MessageSpec
    from tagwire_workbench.designs.findings import DesignFinding


def read_design(path: str) -> "tuple[MessageSpec, ...]":
    """Read the specs in a file or folder, without registers (named numbers).

    Raises SpecError for a spec with errors.
    """
    from tagwire_generator.problems import spec_error
    from tagwire_generator.project.options import SpecOptions
    from tagwire_generator.project.settings import load_project
    from tagwire_generator.project.spec_files import SpecFile, find_specs
    from tagwire_generator.reading.imports import shared_structs_near
    from tagwire_generator.reading.register import registers_in
    from tagwire_generator.reading.spec import read_file

    spec_path = Path(path)
    spec_set = load_project().set_of(spec_path)
    options = spec_set.options if spec_set else SpecOptions()
    registers = registers_in(
        [*(spec_set.sources if spec_set else ()), spec_path if spec_path.is_dir() else spec_path.parent]
    )
    known: dict[str, Any] = {
        "registers": registers,
        "shared": shared_structs_near(spec_path, spec_set, options, registers),
    }
    found = list["MessageSpec"]()
    for each in find_specs(spec_path) if spec_path.is_dir() else [SpecFile("", spec_path)]:
        result = read_file(each.path, component=each.component, options=options, **known)
        if result.register is not None:  # no design rule applies to registers
            continue
        if result.message is None:
            raise spec_error(result.problems)
        found.append(result.message)
    return tuple(found)


def reject_unjudged(path: str, command: str) -> None:
    """Raise click.UsageError for a path that has only registers, which `command` doesn't check."""
    text = f"{path} has only registers, but {command} checks messages and record formats"
    raise click.UsageError(f"{text}; use `tagwire validate` to check registers")


def with_positions(findings: "Sequence[DesignFinding]") -> "Sequence[DesignFinding]":
    """Add lines and columns to the findings, and sort them by position."""
    from tagwire_generator.reading.positions import placed

    texts = {file: Path(file).read_text("utf-8") for file in {finding.file for finding in findings}}
    order = {file: number for number, file in enumerate(dict.fromkeys(finding.file for finding in findings))}
    return sorted(placed(findings, texts), key=lambda each: (order[each.file], each.line, each.column, each.rule))


def tell(findings: "Sequence[DesignFinding]", output_format: str, paths: str, excused: int = 0) -> None:
    """Print the findings and, in text output, what was checked. Exit with status 1 if a finding is an error."""
    findings = with_positions(findings)
    if output_format == "json":
        write_json([finding.as_dict() for finding in findings])
    elif output_format == "github":
        print_github([of_problem(finding.problem()) for finding in findings])
    elif output_format == "sarif":
        print_sarif([of_problem(finding.problem()) for finding in findings])
    else:
        print_problems([finding.problem() for finding in findings], err=False)
        also = f", {count(excused, 'excused finding')}" if excused else ""
        say(f"{summary(findings)}{also} in {paths}", err=True)
    if any(finding.severity == "error" for finding in findings):
        raise click.exceptions.Exit(1)
