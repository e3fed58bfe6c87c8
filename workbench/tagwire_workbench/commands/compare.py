"""`tagwire compare`: show what two captures have in common, and how they differ."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from tagwire.text_format import count
from tagwire_cli.arguments.options import package_option, port_option, show_sensitive_option
from tagwire_cli.arguments.packages import find_registry, require_headers
from tagwire_cli.input.captures import captured_frames
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import TableColumn, print_table, table_columns, write_json
from tagwire_cli.paths import InputPath

if TYPE_CHECKING:
    from tagwire_workbench.capture_comparison import MessageComparison

_ABSENT: Final = "-"
_SHOWN: Final = 6
"""Maximum number of values to print per field. JSON output contains all values."""


@click.command("compare")
@click.argument("a", metavar="A", type=InputPath(folders=False, allow_dash=True, is_text=True))
@click.argument("b", metavar="B", type=InputPath(folders=False, allow_dash=True, is_text=True))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@port_option
@show_sensitive_option
@package_option
def command(a: str, b: str, as_json: bool, port: int, package: str | None) -> None:
    """Show what two captures have in common, and what only one has.

    The first table lists the versions of each message in A and in B, with the number
    of frames. The second table is about messages that A and B have in common: it
    lists the fields that differ from their default only in A or only in B, and how
    often they do. The third table lists values that only A or only B has and, for
    booleans and enums, values that neither has. Fields with many values, such as
    offsets, are not in the third table.

    \b
    Examples:
      tagwire compare old_client.jsonl.gz new_client.jsonl.gz
      tagwire compare tests.jsonl.gz production.jsonl.gz --json
    """
    from tagwire_workbench.capture_comparison import CaptureUsage, compare_captures

    registry = find_registry(package)
    require_headers(registry)
    usages = [CaptureUsage(registry, captured_frames(file, registry, port=port)) for file in (a, b)]
    messages = compare_captures(*usages)
    if as_json:
        files = {
            side: {"file": file, "frames": usage.frames, "unreadable": dict(sorted(usage.unreadable.items()))}
            for side, file, usage in zip(("a", "b"), (a, b), usages, strict=True)
        }
        write_json({**files, "messages": [each.as_dict() for each in messages]})
    else:
        _show(messages)
    for file, usage in zip((a, b), usages, strict=True):
        for name, number in sorted(usage.unreadable.items()):
            say(f"{file}: {count(number, 'frame')} can't be read: {name}", err=True)


def _show(messages: "Sequence[MessageComparison]") -> None:
    rows = [(each.name, _versions(each.a), _versions(each.b)) for each in messages]
    print_table(table_columns("message", "versions in A", "versions in B"), rows)
    used = [
        (f"{message.name}.{field.path}", field.a or _ABSENT, field.b or _ABSENT)
        for message in messages
        for field in message.fields
        if bool(field.a) != bool(field.b)
    ]
    numbers = ("used in A", "used in B")
    _show_table(table_columns("fields that one uses", *numbers, numbers=numbers), used)
    values = [
        (f"{message.name}.{field.path}", *map(_values, field.values))
        for message in messages
        for field in message.fields
        if field.values is not None and any(field.values)
    ]
    _show_table(table_columns("values", "only in A", "only in B", "in neither"), values)


def _show_table(columns: Sequence[TableColumn], rows: Sequence[Sequence[object]]) -> None:
    if rows:
        say()
        print_table(columns, rows)


def _versions(counts: dict[int, int]) -> str:
    return ", ".join(f"{version} ({number})" for version, number in counts.items()) or _ABSENT


def _values(values: Sequence[str]) -> str:
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return ", ".join(values[:_SHOWN]) + more or _ABSENT
