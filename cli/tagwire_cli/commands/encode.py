"""`tagwire encode`: encode JSON as a message or a stream of frames."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tagwire.text_format import a_kind
from tagwire_cli.arguments import completion
from tagwire_cli.arguments.options import frames_option, package_option
from tagwire_cli.arguments.packages import find_registry, require_headers
from tagwire_cli.input import frame_json
from tagwire_cli.input.files import one_file
from tagwire_cli.input.frame_stream import at
from tagwire_cli.input.json_values import json_lines, json_values, read_json
from tagwire_cli.input.message_arguments import message_of
from tagwire_cli.output.tables import reject_terminal, write_data

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry


@click.command("encode")
@click.argument("args", nargs=-1, metavar="[MESSAGE VERSION] [FILE]", shell_complete=completion.arguments)
@frames_option(help_text="Write frames of this kind, with size and header.")
@click.option(
    "--jsonl",
    "as_lines",
    is_flag=True,
    help="Read one JSON value per line; without --frames, write one hex line for each.",
)
@click.option("--hex", "as_hex", is_flag=True, help="Write hex instead of bytes, one message or frame per line.")
@package_option
def command(args: Sequence[str], kind: str | None, as_lines: bool, as_hex: bool, package: str | None) -> None:
    """Encode JSON as a message or as frames.

    The JSON is read from FILE or standard input. It has the form that `tagwire
    decode` prints: bytes and records as base64, uuids as 22 characters of URL-safe
    base64, unknown tagged fields under "_unknownTags". All fields of the version are
    required, except tagged fields, which may be omitted. A value that the version
    can't represent is rejected, and nothing is written for it.

    With --frames, the input is any number of JSON values, and each becomes a frame:
    an int32 size, a header, the message. Each value is an object with message,
    version, header and body; header may be incomplete or missing. If MESSAGE
    VERSION is given, each value is a body. Frames of kind message have no header,
    and need MESSAGE VERSION.

    \b
    Examples:
      echo '{"groupId": "g", "memberId": "m"}' | tagwire encode LeaveGroupRequest 0 --hex
      tagwire encode FetchRequest 17 < fetch.json > fetch.bin
      tagwire show FetchRequest --version 17        list the fields it needs
      tagwire decode --frames request --jsonl sent.bin | tagwire encode --frames request --jsonl
      echo '{}' | tagwire encode --frames request ListGroupsRequest 0 --hex
    """
    registry = find_registry(package)
    if not as_hex:
        reject_terminal()
    if kind is None:
        message, version, files = message_of(registry, args)
        if as_lines and not as_hex:
            raise click.UsageError("--jsonl needs --hex (one message per line) or --frames.")
        encoder = frame_json.message_encoder(message, version)
        if not as_lines:
            write_data(encoder(read_json(one_file(files))), as_hex=as_hex)
            return
    else:
        encoder, files = _encoder(registry, kind, args)
    file = one_file(files)
    for position, value in json_lines(file) if as_lines else json_values(file):
        with at(position):
            data = encoder(value)
        write_data(data, as_hex=as_hex, sized=kind is not None)


def _encoder(registry: "Registry", kind: str, args: Sequence[str]) -> "tuple[frame_json.Encoder, Sequence[str]]":
    """Return an encoder for this kind of frame, and the arguments that it doesn't use (FILE, if the user gave it)."""
    if kind == "message":
        message, version, files = message_of(registry, args)
        return frame_json.message_encoder(message, version), files
    require_headers(registry)
    if len(args) < 2:
        return frame_json.frame_encoder(registry, kind), args
    message, version, files = message_of(registry, args)
    if kind != message.KIND:
        raise click.BadParameter(f"{message.NAME} is {a_kind(message.KIND)}, not a {kind}", param_hint="MESSAGE")
    return frame_json.body_encoder(registry, message, version), files
