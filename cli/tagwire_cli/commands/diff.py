"""`tagwire diff`: show the changes between versions of a message."""

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import click

from tagwire_cli.arguments import completion
from tagwire_cli.arguments.options import package_option, version_number
from tagwire_cli.arguments.packages import find_message, find_registry, require_version
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import camel_keys, print_table, table_columns, write_json

if TYPE_CHECKING:
    from tagwire_cli.version_diff import VersionDiff


_ABSENT: Final = "-"


@click.command("diff")
@click.argument("name", metavar="MESSAGE", shell_complete=completion.messages)
@click.argument("old", metavar="[V1", type=version_number, required=False, shell_complete=completion.versions)
@click.argument("new", metavar="V2]", type=version_number, required=False, shell_complete=completion.versions)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@package_option
def command(name: str, old: int | None, new: int | None, as_json: bool, package: str | None) -> None:
    """Show what changed between versions V1 and V2 of MESSAGE.

    The first lines describe the version as a whole: its header, whether it is
    flexible, its minimum size, and the size of an object with default values. Then
    there is a row for each field that differs: its types as in `tagwire show
    --version` (- if the version does not have the field), and what changed:
    added, removed, nullable, compact, or moved to or from the tagged fields.
    Without V1 and V2, each version is compared with the one before it.

    \b
    Examples:
      tagwire diff OffsetCommitRequest 7 8
      tagwire diff FetchRequest
      tagwire diff MetadataResponse 8 9 --json
    """
    from tagwire_cli.version_diff import diff_versions

    message = find_message(find_registry(package), name)
    if (old is None) != (new is None):
        raise click.UsageError("give both versions, or neither to compare each version with the one before it")
    if old is None or new is None:
        steps = [diff_versions(message, *pair) for pair in pairwise(message.VERSIONS)]
        if as_json:
            write_json(camel_keys([step.as_dict() for step in steps]))
            return
        if not steps:
            say(f"{message.NAME} has only version {message.VERSIONS}; there is nothing to compare")
        for number, step in enumerate(steps):
            if number:
                say()
            _show(step)
        return
    for version in (old, new):
        require_version(message, version)
    difference = diff_versions(message, old, new)
    if as_json:
        write_json(camel_keys(difference.as_dict()))
    else:
        _show(difference)


def _show(difference: "VersionDiff") -> None:
    old, new = difference.old, difference.new
    say(f"{difference.name} v{old.version} -> v{new.version}")
    say(", ".join(_facts(difference)))
    if not difference.changes:
        say("the same fields")
        return
    say()
    columns = table_columns("field", f"v{old.version}", f"v{new.version}", "change")
    rows = [
        (change.path, change.old or _ABSENT, change.new or _ABSENT, ", ".join(change.kinds))
        for change in difference.changes
    ]
    print_table(columns, rows)


def _facts(difference: "VersionDiff") -> list[str]:
    old, new = difference.old, difference.new
    facts = [] if old.header_version is None else [_step("header", old.header_version, new.header_version)]
    for what, before, after in (
        ("flexible", old.flexible, new.flexible),
        ("with optional fields", old.optional_fields, new.optional_fields),
    ):
        if before or after:
            facts.append(what if before == after else f"{'now' if after else 'no longer'} {what}")
    facts.append(_step("at least", old.minimum_size, new.minimum_size, " bytes"))
    facts.append(_step("a fresh object", old.default_size, new.default_size, " bytes"))
    return facts


def _step(what: str, before: int | None, after: int | None, unit: str = "") -> str:
    """Format a change, such as `header 1 -> 2`, or `header 1` if nothing changed.

    A size of None is shown as `impossible`.
    """
    shown = ["impossible" if value is None else f"{value}{unit}" for value in (before, after)]
    return f"{what} {shown[0]}" if before == after else f"{what} {shown[0].removesuffix(unit)} -> {shown[1]}"
