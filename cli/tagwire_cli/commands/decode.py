"""`tagwire decode`: decode a message or a stream of frames to JSON."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from tagwire.errors import DecodeError, TagwireError
from tagwire_cli.arguments import completion
from tagwire_cli.arguments.options import (
    capture_options,
    check_frame_options,
    frames_option,
    limit_option,
    limits_of,
    package_option,
    repeated_options,
    requests_option,
)
from tagwire_cli.arguments.packages import find_registry, require_headers
from tagwire_cli.input import frame_json
from tagwire_cli.input.files import InputError, one_file, read_bytes
from tagwire_cli.input.frame_stream import at, frames, hex_lines, response_apis
from tagwire_cli.input.message_arguments import message_of
from tagwire_cli.output.echo import say, say_error
from tagwire_cli.output.tables import write_json_text

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry

    _Part = tuple[str, bytes, frame_json.Decoder]
    """A frame's position in the input, its bytes, and its decoder."""


@click.command("decode")
@click.argument("args", nargs=-1, metavar="[MESSAGE VERSION | API VERSION] [FILE]", shell_complete=completion.arguments)
@frames_option()
@requests_option
@capture_options
@click.option(
    "--jsonl",
    "as_lines",
    is_flag=True,
    help="Print one JSON value per line; without --frames, read one hex message per line.",
)
@click.option(
    "--keep-going", is_flag=True, help="Print unreadable frames as raw bytes and continue; exit with 1 at the end."
)
@click.option("--hex", "is_hex", is_flag=True, help="The input is hex; white space is ignored.")
@click.option("--lenient", is_flag=True, help="Accept what Kafka's own reader accepts.")
@click.option(
    "--style",
    type=click.Choice(["lossless", "kafka"]),
    default="lossless",
    show_default=True,
    help="lossless can be encoded again; kafka matches Kafka's own tools.",
)
@limit_option
@package_option
def command(
    args: Sequence[str],
    kind: str | None,
    requests_file: str | None,
    is_capture: bool,
    where: str | None,
    port: int,
    as_lines: bool,
    keep_going: bool,
    is_hex: bool,
    lenient: bool,
    style: str,
    limits: Sequence[str],
    package: str | None,
) -> None:
    """Decode a message or a stream of frames to JSON.

    The bytes are read from FILE or standard input. Without --frames, the input is
    one MESSAGE of VERSION, without size and header. With --frames, the input is any
    number of frames as on a connection: an int32 size, a header, a message.
    Requests identify themselves; responses need API and VERSION, or --requests.
    Frames of kind message have a size but no header. `tagwire encode` reads the
    output back. With --capture, each frame also has its number, connection and time.

    Missing bytes, extra bytes and bytes that the version does not allow are
    rejected with their position. Frames before an invalid frame are printed, but
    no part of an invalid message.

    \b
    Examples:
      echo 00 01 67 00 01 6d | tagwire decode LeaveGroupRequest 0 --hex
      tagwire decode FetchResponse 17 < body.bin | jq .responses
      tagwire decode MetadataRequest 12 --limit elements=1000 < untrusted.bin
      tagwire decode --frames request --jsonl sent.bin
      tagwire decode --frames response --requests sent.bin --jsonl received.bin
      tagwire decode --frames response Metadata 12 received.bin
      tagwire decode --capture frames.jsonl.gz --where 'api=Metadata error=any' --jsonl
    """
    how = frame_json.JsonOptions(style, not lenient, limits_of(limits), None if as_lines else 2)
    registry = find_registry(package)
    check_frame_options()
    if is_capture:
        from tagwire_cli.input.captures import chosen_frames

        captured = chosen_frames(one_file(args), registry, where, port)
        parts: Iterator[_Part] = (
            (f"frame {each.number}", each.data, frame_json.captured_decoder(each, how)) for each in captured
        )
    elif kind is not None:
        parts = _stream(registry, args, kind, requests_file, how, is_hex=is_hex)
    else:
        if keep_going:
            raise click.UsageError("--keep-going needs --frames or --capture.")
        _decode_messages(registry, args, how, is_hex=is_hex, as_lines=as_lines)
        return
    if not _print_all(parts, how.indent, keep_going=keep_going):
        raise click.exceptions.Exit(1)


def _decode_messages(
    registry: "Registry", args: Sequence[str], how: frame_json.JsonOptions, *, is_hex: bool, as_lines: bool
) -> None:
    """Decode input without frames, and print it: a single message or, with `as_lines`, a message per line of hex."""
    message, version, files = message_of(registry, args)
    decoder = frame_json.message_decoder(message, version, how)
    if as_lines:
        if not is_hex:
            raise click.UsageError("--jsonl needs --hex (one message per line) or --frames.")
        _print_all(_with_decoder(hex_lines(one_file(files)), decoder), how.indent)
        return
    file = one_file(files)
    data = read_bytes(file, is_hex=is_hex)
    try:
        text = decoder(data)
    except DecodeError as error:
        import shlex

        from tagwire_cli.input.encodings import input_hint

        if not (is_hex and data) and (hint := input_hint(data, file)):
            raise InputError(hint) from None
        say_error(error)
        again = shlex.join(
            ["tagwire", "explain", message.NAME, str(version), *repeated_options(), *([file] if file != "-" else [])]
        )
        say(f"`{again}` shows every byte up to the error", err=True)
        raise click.exceptions.Exit(1) from None
    write_json_text(text)


def _stream(
    registry: "Registry",
    args: Sequence[str],
    kind: str,
    requests_file: str | None,
    how: frame_json.JsonOptions,
    *,
    is_hex: bool,
) -> "Iterator[_Part]":
    """Return each frame of a stream, with the decoder for this kind of frame."""
    if kind == "message":
        message, version, files = message_of(registry, args)
        found = frames(one_file(files), how.limits, is_hex=is_hex)
        return _with_decoder(found, frame_json.message_decoder(message, version, how))
    require_headers(registry)
    if kind == "request":
        found = frames(one_file(args), how.limits, is_hex=is_hex)
        return _with_decoder(found, frame_json.request_decoder(registry, how))
    apis, files = response_apis(registry, args, requests_file, how.limits, is_hex=is_hex)
    found = apis.checked(frames(one_file(files), how.limits, is_hex=is_hex))
    return _with_decoder(found, frame_json.response_decoder(registry, apis, how))


def _with_decoder(positioned: Iterator[tuple[str, bytes]], decoder: "frame_json.Decoder") -> "Iterator[_Part]":
    return ((position, data, decoder) for position, data in positioned)


def _print_all(parts: "Iterator[_Part]", indent: int | None, *, keep_going: bool | None = None) -> bool:
    """Print all frames. Return whether all of them could be decoded.

    Unless `keep_going` is true, stops at the first error, and raises it as an InputError. If `keep_going` is false, the
    error names the option --keep-going.
    """
    good = True
    for position, data, decoder in parts:
        try:
            with at(position):
                text = decoder(data)
        except TagwireError as error:
            if keep_going is None:
                raise
            if not keep_going:
                raise InputError(f"{error}; to continue after such frames, use --keep-going") from error
            good = False
            say_error(error)
            text = frame_json.raw_text(data, error, indent)
        write_json_text(text)
    return good
