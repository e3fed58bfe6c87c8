"""`tagwire redact`: remove secrets from captures and frames."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from tagwire.errors import DecodeError, TagwireError
from tagwire.limits import DEFAULT_LIMITS
from tagwire_cli.arguments import completion
from tagwire_cli.arguments.options import (
    check_frame_options,
    frames_option,
    package_option,
    port_option,
    requests_option,
)
from tagwire_cli.arguments.packages import find_registry, require_headers
from tagwire_cli.input.captures import captured_frames
from tagwire_cli.input.files import one_file
from tagwire_cli.input.frame_stream import ResponseApis, at, frames, response_apis
from tagwire_cli.input.message_arguments import message_of
from tagwire_cli.output.echo import say_error
from tagwire_cli.output.tables import reject_terminal, write_data, write_json_line

if TYPE_CHECKING:
    from tagwire.captures import CapturedFrame
    from tagwire.frames.redaction import Redaction
    from tagwire.frames.registry import Registry

    Api = tuple[int, int]
    Redact = Callable[[bytes], bytes]
    Part = tuple[str, bytes, Redact, Callable[[bytes], None]]
    """A frame's position in the input, its bytes, and the functions that redact the frame and write it."""


@click.command("redact")
@click.argument("args", nargs=-1, metavar="[MESSAGE VERSION | API VERSION] [FILE]", shell_complete=completion.arguments)
@frames_option()
@requests_option
@click.option("--same-length", is_flag=True, help="Replace with zeros or the letter x, so that lengths stay the same.")
@click.option("--keep-unreadable", is_flag=True, help="Copy frames that can't be read, instead of leaving them out.")
@click.option("--hex", "is_hex", is_flag=True, help="Read and write hex; needs --frames.")
@port_option
@package_option
def command(
    args: Sequence[str],
    kind: str | None,
    requests_file: str | None,
    same_length: bool,
    keep_unreadable: bool,
    is_hex: bool,
    port: int,
    package: str | None,
) -> None:
    """Remove passwords, tokens and keys from captured frames.

    The input is a capture: lines of JSON with `hex`, as described in
    docs/capture-format.md, or a pcap or pcapng file, whose frames are written as such
    lines. With --frames, it is a stream of frames. Fields that the specs mark as
    sensitive become empty; everything else stays the same, byte for byte. Produced
    and fetched records are not searched for secrets.

    Frames that can't be read may also contain secrets. They are left out and
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
    check_frame_options()
    if kind is not None:
        if not is_hex:
            reject_terminal()
        parts = _stream(redaction, registry, args, kind, requests_file, is_hex=is_hex)
    elif is_hex:
        raise click.UsageError("--hex needs --frames.")
    else:
        parts = _capture(redaction, registry, one_file(args), port)
    failed = 0
    for position, data, redact, write in parts:
        try:
            with at(position):
                data = redact(data)
        except TagwireError as error:
            failed += 1
            say_error(error)
            if not keep_unreadable:
                continue
        write(data)
    if failed:
        raise click.exceptions.Exit(1)


def _capture(redaction: "Redaction", registry: "Registry", file: str, port: int) -> "Iterator[Part]":
    """Yield each frame of a capture, with a function that redacts it and a function that writes it as a line."""
    for frame in captured_frames(file, registry, port=port, closes=True):
        redact: Redact = bytes if frame.is_close else redaction.request
        if frame.gap or not (frame.is_request or frame.is_close):
            redact = partial(_response, redaction, frame.api, frame.rivals) if frame.api else partial(_rejected, frame)
        yield frame.position, frame.data, redact, partial(_write_row, frame)


def _rejected(frame: "CapturedFrame", data: bytes) -> bytes:
    """Raise the CaptureError for a frame that can't be redacted: a gap, or a frame of an unknown API."""
    frame.decode()
    return data


def _response(redaction: "Redaction", api: "Api", rivals: "Sequence[Api]", frame: bytes) -> bytes:
    """Redact a response to `api`.

    `rivals` are the APIs of other requests with the same correlation ID. Raises TagwireError if the bytes can also be
    read as a response to one of these APIs, but would be redacted differently, or if one of these APIs is unknown.
    """
    redacted = redaction.response(frame, *api)
    for rival in rivals:
        try:
            is_same = redaction.response(frame, *rival) == redacted
        except DecodeError:
            continue
        except TagwireError:  # a response of an unknown API may have sensitive fields anywhere
            is_same = False
        if not is_same:
            raise TagwireError(
                f"the response's correlation ID is ambiguous: a request for API {api[0]} v{api[1]} and one for API "
                f"{rival[0]} v{rival[1]} both have this ID, and their responses have different sensitive fields; "
                "redact one connection at a time"
            )
    return redacted


def _write_row(frame: "CapturedFrame", data: bytes) -> None:
    """Write a frame as a line of JSON. Does nothing for a gap in a capture."""
    if frame.gap:
        return
    row = frame.row or {
        "dir": "close" if frame.is_close else "req" if frame.is_request else "resp",
        "conn": frame.conn,
        "timestamp": frame.milliseconds,
        **dict(zip(("api_key", "api_version"), frame.api or (), strict=False)),
    }
    write_json_line({**row, "hex": data.hex()})


def _stream(
    redaction: "Redaction",
    registry: "Registry",
    args: Sequence[str],
    kind: str,
    requests_file: str | None,
    *,
    is_hex: bool,
) -> "Iterator[Part]":
    """Yield each frame of a stream, with a function that redacts it and a function that writes it."""

    redact: Redact = redaction.request
    apis: ResponseApis | None = None
    if kind == "message":
        message, version, args = message_of(registry, args)
        redact = partial(redaction.message, message, version=version)
    else:
        require_headers(registry)
    if kind == "response":
        apis, args = response_apis(registry, args, requests_file, DEFAULT_LIMITS, is_hex=is_hex)
        redact = partial(_paired, redaction, apis)
    positioned = frames(one_file(args), DEFAULT_LIMITS, is_hex=is_hex)
    for position, frame in positioned if apis is None else apis.checked(positioned):
        yield position, frame, redact, partial(write_data, as_hex=is_hex, sized=True)


def _paired(redaction: "Redaction", apis: ResponseApis, frame: bytes) -> bytes:
    api = apis(frame)
    return _response(redaction, api, apis.rivals(frame, api), frame)
