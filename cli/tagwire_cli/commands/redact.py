"""`tagwire redact`: captures and frames without their secrets."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from tagwire.errors import TagwireError
from tagwire.limits import DEFAULT_LIMITS
from tagwire_cli.arguments import completion
from tagwire_cli.arguments.options import frames_option, package_option, requests_option
from tagwire_cli.arguments.packages import find_registry, require_headers
from tagwire_cli.arguments.words import message_of, one_file, response_of
from tagwire_cli.input.asked import Asked
from tagwire_cli.input.bytes import InputError, read_bytes
from tagwire_cli.input.capture_lines import capture_lines
from tagwire_cli.input.frame_stream import at, frames
from tagwire_cli.output.echo import say_error
from tagwire_cli.output.tables import refuse_terminal, write_bytes, write_json_line

if TYPE_CHECKING:
    from tagwire.frames.redaction import Redaction
    from tagwire.frames.registry import Registry

    Redact = Callable[[bytes], bytes]
    Part = tuple[str, bytes, Redact, Callable[[bytes], None]]
    """The place of a frame, its bytes, what redacts it, and what writes it."""

__all__ = ["command"]


@click.command("redact")
@click.argument("words", nargs=-1, metavar="[MESSAGE VERSION | API VERSION] [FILE]", shell_complete=completion.words)
@frames_option
@requests_option
@click.option("--same-length", is_flag=True, help="Replace with zeros or the letter x, so that lengths stay the same.")
@click.option("--keep-unreadable", is_flag=True, help="Copy frames that can't be read, instead of leaving them out.")
@click.option("--hex", "is_hex", is_flag=True, help="Read and write hex; needs --frames.")
@package_option
def command(
    words: Sequence[str],
    kind: str | None,
    requests_file: str | None,
    same_length: bool,
    keep_unreadable: bool,
    is_hex: bool,
    package: str | None,
) -> None:
    """Remove passwords, tokens and keys from captured frames.

    The input is a capture: lines of JSON with `hex`, as described in docs/cli.md.
    With --frames, it is a stream of frames. Fields that the specs mark as
    sensitive become empty; everything else stays the same, byte for byte. Produced
    and fetched records are not searched for secrets.

    Frames that can't be read may hold secrets as well. They are left out and
    reported, and the exit status is 1.

    \b
    Examples:
      tagwire redact captures.jsonl.gz > shared.jsonl
      tagwire redact --frames request --same-length < sent.bin > shared.bin
      tagwire redact --frames response --requests sent.bin < received.bin > shared.bin
    """
    from tagwire.frames.redaction import Redaction

    registry = find_registry(package)
    redaction = Redaction(registry, same_length=same_length)
    if kind is None and (requests_file is not None or is_hex):
        raise click.UsageError("--requests and --hex need --frames.")
    if kind is None:
        parts = _capture(redaction, one_file(words))
    else:
        if not is_hex:
            refuse_terminal()
        redact, files = _redactor(registry, redaction, kind, words, requests_file, is_hex=is_hex)
        parts = _stream(redact, one_file(files), is_hex=is_hex)
    failed = 0
    for place, data, redact, write in parts:
        try:
            with at(place):
                data = redact(data)
        except TagwireError as error:
            failed += 1
            say_error(error)
            if not keep_unreadable:
                continue
        write(data)
    if failed:
        raise click.exceptions.Exit(1)


def _capture(redaction: "Redaction", file: str) -> "Iterator[Part]":
    """The frames of a capture, and what writes their lines."""
    name = "captured frames" if file == "-" else file
    for line in capture_lines(read_bytes(file, is_hex=False), name):
        if line.is_request:
            redact: Redact = redaction.request
        elif line.api is None:
            raise InputError(f"{name}: line {line.number}: a response needs api_key and api_version")
        else:
            redact = partial(_response, redaction, line.api)
        yield f"line {line.number}", line.data, redact, partial(_write_row, line.row)


def _response(redaction: "Redaction", asked: tuple[int, int], frame: bytes) -> bytes:
    return redaction.response(frame, *asked)


def _write_row(row: dict[str, Any], frame: bytes) -> None:
    write_json_line(row | {"hex": frame.hex()})


def _stream(redact: "Redact", file: str, *, is_hex: bool) -> "Iterator[Part]":
    """The frames of a stream, and what writes them."""

    def write(frame: bytes) -> None:
        data = len(frame).to_bytes(4, "big") + frame
        write_bytes(data.hex().encode() + b"\n" if is_hex else data)

    for place, frame in frames(file, DEFAULT_LIMITS, is_hex=is_hex):
        yield place, frame, redact, write


def _redactor(
    registry: "Registry",
    redaction: "Redaction",
    kind: str,
    words: Sequence[str],
    requests_file: str | None,
    *,
    is_hex: bool,
) -> "tuple[Redact, Sequence[str]]":
    """What redacts a frame of this kind, and the words that are left."""
    if kind == "message":
        message, version, files = message_of(registry, words)
        return lambda data: redaction.message(message, data, version), files
    require_headers(registry)
    if kind == "request":
        return redaction.request, words
    if requests_file is not None:
        asked = Asked(registry, requests_file, DEFAULT_LIMITS, is_hex=is_hex)
        return lambda data: redaction.response(data, *asked(data)), words
    response, version, files = response_of(registry, words)
    api_key = response.API_KEY
    assert api_key is not None, "a response has an API key"
    return lambda data: redaction.response(data, api_key, version), files
