"""`tagwire fmt`: rewrite specs in a standard format, keeping their comments."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire.text_format import count, printable
from tagwire_cli.arguments.spec_paths import STDIN, spec_paths
from tagwire_cli.input.files import read_bytes
from tagwire_cli.output.diagnostics import print_error
from tagwire_cli.output.echo import say, say_patch
from tagwire_cli.output.tables import write_bytes
from tagwire_cli.paths import InputPath, reject_pipe

if TYPE_CHECKING:
    from tagwire_generator.project.settings import Settings


@click.command("fmt")
@click.argument("paths", nargs=-1, metavar="[PATH...]", type=InputPath(allow_dash=True, is_text=True))
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if anything would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print a unified diff of the changes.")
def command(paths: Sequence[str], check: bool, diff: bool) -> None:
    """Rewrite message specs in their normal form.

    PATH is a spec, a folder of specs, or - to read standard input and write
    standard output. Without PATH, all spec sets of this project are formatted. A
    folder above spec sets means all of these sets. The meaning of a spec does not
    change, and comments are kept. Specs with errors, record formats and registers
    are left as they are.

    \b
    Examples:
      tagwire fmt
      tagwire fmt --check --diff message_specs
    """
    from tagwire.errors import SpecError
    from tagwire_generator.editing.spec_edit import format_spec
    from tagwire_generator.project.options import SpecOptions
    from tagwire_generator.project.output import OutputError, write_all
    from tagwire_generator.project.settings import load_project
    from tagwire_generator.reading.spec import decoded

    settings = load_project()
    number = changed = failed = 0
    for name, data in _specs(settings, paths):
        number += 1
        try:
            text = decoded(data, _title(name))
            # On Windows, git may check files out with CRLF, so keep the file's line endings.
            line_end = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
            options = SpecOptions() if name == STDIN else settings.options_of(Path(name))
            formatted = format_spec(text.replace("\r\n", "\n"), file=_title(name), options=options)
            formatted = formatted.replace("\n", line_end)
            if name != STDIN and formatted != text and not (check or diff):
                write_all({Path(name): formatted}, {Path(name): data})
        except (SpecError, OutputError) as error:
            failed += 1
            print_error(error)
            continue
        changed += formatted != text
        if name == STDIN and not (check or diff):
            write_bytes(formatted.encode())
        elif formatted != text and diff:
            from tagwire_generator.project.output import unified_diff

            shown = printable(_title(name))
            say_patch(unified_diff(text, formatted, f"a/{shown}", f"b/{shown}"))
        elif formatted != text:
            say(f"{'would format' if check else 'formatted'} {name}", err=True)
    verb = "would change" if check or diff else "changed"
    left = f", {failed} left unchanged" if failed else ""
    say(f"{changed} of {count(number, 'spec')} {verb}{left}", err=True)
    if failed or (changed and check):
        raise click.exceptions.Exit(1)


def _title(name: str) -> str:
    return "standard input" if name == STDIN else name


def _specs(settings: "Settings", paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the file name and the bytes of each spec to format, without duplicates."""
    from tagwire_generator.project.spec_files import find_specs

    seen: set[str] = set()
    for path in spec_paths(settings, paths):
        if path == STDIN:
            yield path, read_bytes(path, is_hex=False)
            continue
        spec_path = Path(path)
        reject_pipe(spec_path)  # the command writes the file
        for file in [spec_path] if spec_path.is_file() else [each.path for each in find_specs(spec_path)]:
            real = os.path.realpath(file)  # Path.resolve fails if links form a loop
            if real not in seen:
                seen.add(real)
                here = Path.cwd()
                name = file.relative_to(here) if file.is_absolute() and file.is_relative_to(here) else file
                yield str(name), read_bytes(str(file), is_hex=False)
