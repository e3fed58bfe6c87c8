"""Detect what an input is if the user names no message: a capture, log, packet, stream of frames, or encoded bytes."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from tagwire.captures import capture_kind
from tagwire.frames.packets import tcp_segment
from tagwire.log.directory import partition_folders
from tagwire.log.names import log_file
from tagwire.text_format import count
from tagwire_cli.input.bytes import InputError, are_hex, read_bytes
from tagwire_cli.input.encodings import LOG_FILES, bytes_of, encoding_of, input_hint, log_file_kind
from tagwire_cli.input.message_arguments import example_of
from tagwire_cli.paths import UnreadableFileError

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry


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
    has_no_version = len(args) > 3 or any(len(each) > 4 or (each[0] == "0" and len(each) > 1) for each in args)
    return has_no_version and are_hex(args)


def detect(registry: "Registry", args: Sequence[str], encoding: str | None) -> Iterator[Detected]:
    """Yield the input that the arguments name. A log folder is yielded segment by segment, other input as a whole.

    Raises InputError for empty or unrecognized input, and click.UsageError for a word that is neither a file nor hex.
    """
    if not args and sys.stdin.isatty():
        raise click.UsageError("give FILE or hex, or bytes on standard input.")
    arg = args[0] if args else "-"
    path = Path(arg)
    if arg != "-" and not path.exists():
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


def _pasted(registry: "Registry", args: Sequence[str]) -> Detected:
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
    found = False
    for partition in partition_folders(folder):
        for path in sorted(partition.iterdir()):
            name = log_file(path)
            if name is not None and name.kind == "log" and not name.state:
                found = True
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
