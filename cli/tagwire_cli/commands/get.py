"""`tagwire get`: print selected fields of a message, or of a stream of frames."""

import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from tagwire.message.json import field_to_json
from tagwire.selection.paths import SelectionError
from tagwire_cli.arguments import completion
from tagwire_cli.arguments.options import (
    SelectionInput,
    capture_options,
    check_capture_options,
    json_lines_option,
    selection_options,
)
from tagwire_cli.arguments.packages import find_registry
from tagwire_cli.input.captures import chosen_frames
from tagwire_cli.input.encodings import input_hint
from tagwire_cli.input.frame_stream import at
from tagwire_cli.input.selected import source, with_order_hint
from tagwire_cli.output.tables import write_json_line, write_line

if TYPE_CHECKING:
    from tagwire.frames.frame_selection import RequestSelection, ResponseSelection
    from tagwire.selection.selection import Selection


@click.command("get")
@click.argument("args", nargs=-1, metavar="MESSAGE [VERSION] PATH...", shell_complete=completion.arguments)
@json_lines_option
@capture_options
@selection_options("The input is hex; white space is ignored.")
def command(
    args: Sequence[str], as_json: bool, is_capture: bool, where: str | None, port: int, given: SelectionInput
) -> None:
    """Print single fields of a message or of frames.

    Other fields are not decoded into objects. PATH uses the attribute names that
    `tagwire show` prints, with [] after an array to select all its elements:
    topics[].partitions[].leader_id. With this path alone, a line is printed for each
    partition. With several paths, a line is printed for each element of the
    innermost array that all of them have in common, with tabs between the values. A
    path that goes into a deeper array prints a JSON list. For example, topics[].name
    and topics[].partitions[].leader_id print a line for each topic, with its name
    and the list of its leader IDs.

    All bytes are checked against the version, as in `tagwire decode`.

    With --frames, the input is a stream of frames as sent over a connection.
    Requests contain their version; frames of other APIs are skipped.
    header.client_id and similar paths select fields of the header. With --capture, the
    input is a capture, and the paths can select fields and headers of its frames.

    \b
    Examples:
      tagwire get MetadataResponse 12 'brokers[].host' 'brokers[].port' < body.bin
      tagwire get --frames request Metadata header.client_id 'topics[].name' --json < sent.bin
      tagwire get --frames response --requests sent.bin Metadata 'brokers[].host' < received.bin
      tagwire get --capture --file frames.jsonl.gz --where 'version=12-' MetadataResponse 'brokers[].host'
    """
    check_capture_options()
    registry = find_registry(given.package)
    given = given._replace(kind="capture") if is_capture else given
    make, rest = source(registry, args, given)
    try:
        selected = make(tuple(rest))
    except SelectionError as error:
        raise click.BadParameter(with_order_hint(str(error), args), param_hint="PATH") from None
    parts = selected.captured(chosen_frames(given.file, registry, where, port)) if is_capture else None
    for number, position, data, version_of in parts or selected.parts():
        with at(position, str if given.is_hex or given.kind else partial(input_hint, data, given.file)):
            version = version_of(data)
            rows = [] if version is None else selected.rows(data, version)
            inner = [] if version is None else _struct_versions(selected.selection, version)
        for row in rows:
            values = [field_to_json(value, inside) for value, inside in zip(row, inner, strict=True)]
            if as_json:
                named = dict(zip(selected.selection.paths, values, strict=True))
                write_json_line({"values": named} if given.kind is None else {"frame": number, "values": named})
            else:
                write_line("\t".join(map(_tab_separated, values)))


def _struct_versions(selection: "Selection | RequestSelection | ResponseSelection", version: int) -> list[int | None]:
    holders = selection.holder_versions(version)
    return [row.struct_version(holder) for row, holder in zip(selection.fields, holders, strict=True)]


def _tab_separated(value: Any) -> str:
    """Format a value for tab-separated output. In strings, escape backslashes and tabs. Other values become JSON."""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return value.replace("\\", "\\\\").replace("\t", "\\t")
