"""`tagwire set`: change selected fields of a message, or of a stream of frames."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from tagwire.message.json import field_from_json
from tagwire.selection.paths import SelectionError
from tagwire.text_format import shown
from tagwire_cli.arguments import completion
from tagwire_cli.arguments.options import SelectionInput, selection_options
from tagwire_cli.arguments.packages import find_registry
from tagwire_cli.input.bytes import InputError
from tagwire_cli.input.encodings import input_hint
from tagwire_cli.input.frame_stream import at
from tagwire_cli.input.json import json_of
from tagwire_cli.input.selected import Selected, source, with_order_hint
from tagwire_cli.output.tables import reject_terminal, write_bytes

if TYPE_CHECKING:
    from tagwire.message.field_table import FieldRow


_TEXTS: Final = ("text", "binary", "fixed bytes", "uuid")
"""The wire types whose values are strings in JSON."""


@click.command("set")
@click.argument("args", nargs=-1, metavar="MESSAGE [VERSION] PATH=VALUE...", shell_complete=completion.arguments)
@selection_options("Read and write hex.")
def command(args: Sequence[str], given: SelectionInput) -> None:
    """Change single fields of a message or of frames.

    All other bytes are copied unchanged. PATH=VALUE takes a string as it is, and
    other values as `tagwire decode` prints them: numbers, true and false, base64
    for bytes. PATH:=JSON takes JSON, such as null or the elements of an array. If a
    path selects several elements, each gets the value. Lengths, counts and sizes
    are updated.

    With --frames, frames of other APIs are copied unchanged.

    \b
    Examples:
      tagwire set MetadataResponse 12 'brokers[].host=proxy' 'brokers[].port=9092' < body.bin > other.bin
      tagwire set --frames request Metadata header.client_id=other < sent.bin > other.bin
      tagwire set FetchRequest 15 'cluster_id:=null' --hex < fetch.txt
    """
    if not given.is_hex:
        reject_terminal()
    make, rest = source(find_registry(given.package), args, given)
    named = [_parted(text) for text in rest]
    try:
        selected = make(tuple([path for path, _, _ in named]))
    except SelectionError as error:
        raise click.BadParameter(with_order_hint(str(error), args), param_hint="PATH=VALUE") from None
    fields = zip(selected.selection.fields, named, strict=True)
    values = [_parsed(path, row, text, is_json=is_json) for row, (path, text, is_json) in fields]
    for _, position, data, version_of in selected.parts():
        with at(position, str if given.is_hex or given.kind else partial(input_hint, data, given.file)):
            version = version_of(data)
            if version is not None:
                data = _changed(selected, data, version, values)
        output = data if given.kind is None else len(data).to_bytes(4, "big") + data
        write_bytes(output.hex().encode() + b"\n" if given.is_hex else output)


def _parted(text: str) -> tuple[str, str, bool]:
    """Split PATH=VALUE or PATH:=JSON. Return the path, the value, and whether the value is JSON."""
    path, sign, value = text.partition("=")
    if not sign:
        raise click.BadParameter(f"expected PATH=VALUE or PATH:=JSON, got {text!r}", param_hint="PATH=VALUE")
    return (path[:-1], value, True) if path.endswith(":") else (path, value, False)


def _parsed(path: str, row: "FieldRow", text: str, *, is_json: bool) -> Any:
    """Parse a VALUE as JSON. Unless `is_json` is set, strings may be written without quotes."""
    if not is_json and _is_text(path, row):
        return text
    try:
        return json_of(text)
    except InputError as error:
        if row.enum is not None and not is_json:
            return text
        reason = str(error).removeprefix("JSON input: ")
        hint = f"{path}: type {row.type} requires JSON, got {shown(text)} ({reason})"
        raise click.BadParameter(hint, param_hint="PATH=VALUE") from None


def _is_text(path: str, row: "FieldRow") -> bool:
    name = row.type[2:] if path.endswith("[]") else row.type
    return row.struct is None and not name.startswith("[]") and row.wire.family in _TEXTS


def _changed(selected: Selected, data: bytes, version: int, values: list[Any]) -> bytes:
    selection = selected.selection
    selected_fields = zip(selection.paths, selection.fields, values, selection.holder_versions(version), strict=True)
    decoded = [
        field_from_json(selection.message, path, row, value, version, holder=holder)
        for path, row, value, holder in selected_fields
    ]

    def new(*row: Any) -> Any:
        filled = tuple(map(_filled, row, decoded))
        return filled[0] if len(filled) == 1 else filled

    return selected.rewrite(data, version, new)


def _filled(old: Any, new: Any) -> Any:
    """Return `new`. If `old` is a list, return a list of the same shape in which every value is `new`."""
    return [_filled(each, new) for each in old] if type(old) is list else new
