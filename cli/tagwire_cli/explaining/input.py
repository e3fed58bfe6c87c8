"""Detect what the input of `tagwire explain` is, and split it into frames.

If the user names no message, the input may be a capture, a log, a packet, a stream of frames, or encoded bytes.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from tagwire.captures import CapturedFrame, capture_kind
from tagwire.errors import DecodeError
from tagwire.frames.pairing import SASL_TOKEN, SaslTokens
from tagwire.frames.pcap import tcp_segment
from tagwire.frames.registry import Registry
from tagwire.frames.splitter import FrameSplitter
from tagwire.log.names import log_file
from tagwire.text_format import count, whole_number
from tagwire_cli.input.captures import frames_in
from tagwire_cli.input.encodings import LOG_FILES, bytes_of, encoding_of, input_hint, log_file_kind
from tagwire_cli.input.files import InputError, are_hex, read_bytes
from tagwire_cli.input.message_arguments import example_of
from tagwire_cli.output.echo import is_terminal
from tagwire_cli.paths import UnreadableFileError, exists, reject_pipe

_PASTED: Final = re.compile(r"0[0-9a-fA-F:]*|(?:0x)?[0-9a-fA-F]{8,}|(?:[0-9a-fA-F]{2}:)+[0-9a-fA-F]{2}")
_ENCODINGS: Final = {
    "hex": "hex",
    "dump": "a hex dump",
    "escaped": "escaped bytes",
    "list": "a list of numbers",
    "base64": "base64",
    "binary": "bytes",
}
_ETHERNET: Final = 1
_RAW_IP: Final = 101


class Detected(NamedTuple):
    """A detected input: its kind, its description and its bytes."""

    kind: str
    """The kind of the input, one of `tagwire_cli.explaining.units.KINDS`."""
    description: str
    data: bytes
    file: str = "-"
    is_part: bool = False
    """Whether the data is only the payload of a packet."""


def is_unnamed(args: Sequence[str]) -> bool:
    """Return whether the arguments are hex or a file of unknown kind, rather than MESSAGE VERSION [FILE]."""
    if len(args) <= 1:
        return True
    has_no_version = len(args) > 3 or any(len(each) > 4 or (each.startswith("0") and len(each) > 1) for each in args)
    return has_no_version and are_hex(args)


def detect(registry: Registry, args: Sequence[str], encoding: str | None) -> Iterator[Detected]:
    """Yield the input that the arguments name. A log folder is yielded segment by segment, other input as a whole.

    Raises InputError for empty or unrecognized input, and click.UsageError for a word that is neither a file nor hex.
    """
    if not args and is_terminal(sys.stdin):
        raise click.UsageError("give FILE or hex, or bytes on standard input.")
    arg = args[0] if args else "-"
    path = Path(arg)
    if arg != "-" and not exists(arg):
        yield _pasted(registry, args)
    elif path.is_dir():
        yield from _log_folder(path)
    else:
        name = log_file(path)
        title = "" if arg == "-" else f"{arg}: "
        data = read_bytes(arg, is_hex=False)
        if name is None and not log_file_kind(path.name, b""):
            yield _content(title, data, encoding)
        elif name is not None and name.kind in ("log", "checkpoint"):
            yield Detected("format", f"{title}{LOG_FILES[name.kind].partition(' ')[2]}", data)
        else:
            raise InputError(f"{title}{input_hint(data, arg)}")


def _pasted(registry: Registry, args: Sequence[str]) -> Detected:
    """Parse arguments that consist of hex bytes. Raises click.UsageError for anything else."""
    text = "".join(args)
    if _PASTED.fullmatch(text):
        return _content("", text.encode(), "hex")
    if text.isalnum() and (text in registry or f"{text}Request" in registry or text.isdecimal()):
        example = f"{text} {registry[text].LATEST_STABLE}" if text in registry else example_of(registry)
        raise click.UsageError(f"give MESSAGE VERSION, such as {example}, or omit both and let tagwire detect them.")
    if "." in text or "/" in text:
        raise UnreadableFileError.of(args[0])
    raise click.UsageError(f"{args[0]!r} is neither a file nor hex; give FILE, hex, or MESSAGE VERSION.")


def _log_folder(folder: Path) -> Iterator[Detected]:
    from tagwire.log.directory import partition_folders

    found = False
    for partition in partition_folders(folder):
        for path in sorted(partition.iterdir()):
            name = log_file(path)
            if name is not None and name.kind == "log" and not name.state:
                found = True
                reject_pipe(path)
                yield Detected("format", f"{path}: log segment", read_bytes(str(path), is_hex=False))
    if not found:
        raise InputError(f"{folder} contains no log segments; give a file or a partition folder.")


def _content(title: str, data: bytes, encoding: str | None) -> Detected:
    if not data.strip():
        raise InputError(f"{title}the input is empty; give a file, hex, or bytes on standard input")
    if encoding in (None, "auto", "binary") and (kind := capture_kind(data)):
        return Detected("capture", f"{title}{kind}", data, title.removesuffix(": ") or "-")
    name = encoding_of(data) if encoding in (None, "auto") else encoding
    data = bytes_of(data, encoding or "auto")
    what = f"{_ENCODINGS[name]}, {count(len(data), 'byte')}"
    link = _link_type(data)
    segment = None if link is None else tcp_segment(link, data, 0.0)
    if segment is not None:
        what += f": a packet from {segment.source} to {segment.target}, "
        what += f"shown without headers ({count(len(segment.data), 'byte')} of TCP payload)"
        data = segment.data
    return Detected("guess", f"{title}{what}", data, is_part=segment is not None)


def _link_type(data: bytes) -> int | None:
    """Return the link type if the bytes are one complete TCP packet; otherwise None.

    The length in the IP header must match the size of the input, except for Ethernet padding.
    """
    for start, link in ((14, _ETHERNET), (0, _RAW_IP)):
        header, size = data[start : start + 40], len(data) - start
        kind = data[12:14] if start else None
        if len(header) == 40 and header[0] == 0x45 and header[9] == 6 and kind in (b"\x08\x00", None):
            total = int.from_bytes(header[2:4], "big")
        elif len(header) == 40 and header[0] >> 4 == 6 and header[6] == 6 and kind in (b"\x86\xdd", None):
            total = 40 + int.from_bytes(header[4:6], "big")
        else:
            continue
        if total == size or (start and total < size <= 60):
            return link
    return None


class InputFrame(NamedTuple):
    """A frame without its size prefix, with its number and, if known, its direction and API."""

    number: int
    """The frame's number in the input; the first frame is 1."""
    title: str
    data: bytes
    is_request: bool | None = None
    """True for a request, False for a response, or None if this is unknown."""
    api: tuple[int, int] | None = None
    """For a response, the API key and version of its request."""
    error: str = ""
    """The error if there is a gap in the capture, or a SASL token, instead of a frame."""


def is_stream(data: bytes) -> bool:
    """Return whether the input consists of complete frames, each preceded by its size.

    Random bytes pass this test with a probability of 1 in 2^32.
    """
    splitter = FrameSplitter(max_size=len(data))
    splitter.feed(data)
    try:
        return bool(data) and all(splitter) and not splitter.pending
    except DecodeError:
        return False


def stream_frames(data: bytes, tokens: SaslTokens | None) -> Iterator[InputFrame]:
    """Yield the frames of a stream, with an error for each SASL token. Raises DecodeError for an invalid frame size."""
    splitter = FrameSplitter()
    splitter.feed(data)
    for number, frame in enumerate(splitter, 1):
        offset = splitter.offset - len(frame) - 4
        error = SASL_TOKEN if tokens is not None and tokens.has(None, frame, is_request=True) else ""
        yield InputFrame(number, f"frame {number} at byte {offset}", frame, error=error)
    splitter.close()


def captured_frames(
    data: bytes, file: str, port: int, registry: Registry, where: Callable[[CapturedFrame], bool] | None = None
) -> Iterator[InputFrame]:
    """Yield the frames of a capture, or only those that `where` accepts. A response also has the API of its request.

    A gap in a network capture, or a line that isn't a captured frame, becomes a frame with an error. Raises
    CaptureError if the capture itself is invalid.
    """
    frames = frames_in(data, file, registry, port=port, keeps_damaged=True)
    return map(input_frame, filter(where or (lambda frame: True), frames))


def input_frame(frame: CapturedFrame) -> InputFrame:
    """Convert a captured frame to an InputFrame with a title."""
    who = frame.client or (frame.conn if not frame.row else None)
    title = f"frame {frame.number}, {frame.direction}{f', {who}' if who and who.isprintable() else ''}"
    return InputFrame(frame.number, title, frame.data, frame.is_request, frame.api, frame.gap)


def selected_frames(frames: Iterator[InputFrame], only: str | None) -> Iterator[InputFrame]:
    """Yield the frames whose numbers are in `only`, such as `1,4-6`; None means all frames.

    Raises click.BadParameter if `only` is not a list of numbers and ranges.
    """
    if only is None:
        return frames
    ranges = [_range(each, only) for each in only.split(",")]
    return _chosen(frames, ranges, only)


def _chosen(frames: Iterator[InputFrame], ranges: list[tuple[int, int]], only: str) -> Iterator[InputFrame]:
    number, last = 0, max(high for _, high in ranges)
    is_any = False
    for frame in frames:
        number = frame.number
        if any(low <= number <= high for low, high in ranges):
            is_any = True
            yield frame
        if number >= last:
            break
    if not is_any:
        raise InputError(f"--only {only} selects no frame; the input has {count(number, 'frame')}")


def _range(text: str, only: str) -> tuple[int, int]:
    first, dash, last = text.strip().partition("-")
    low, high = whole_number(first), whole_number(last or first)
    if low is None or high is None:
        raise click.BadParameter(f"{only!r} is not a list of frames such as 1,4-6", param_hint="--only")
    if low == 0:
        raise click.BadParameter(f"{only!r}: frame numbers start at 1", param_hint="--only")
    high = sys.maxsize if dash and not last else high
    if high < low:
        raise click.BadParameter(f"{only!r}: the range is reversed; use {high}-{low}", param_hint="--only")
    return low, high
