"""Read frames, or lines of hex, from a stream, each as soon as it arrives.

A frame is returned before more input is read, because the input may be a live connection. `at` adds the number of the
frame or line to errors.
"""

import contextlib
from collections.abc import Callable, Generator, Iterator
from typing import IO, TYPE_CHECKING, Final

from tagwire.errors import DecodeError, TagwireError
from tagwire.frames.splitter import DEFAULT_MAX_SIZE, FrameSplitter
from tagwire_cli.input.bytes import InputError, from_hex, note_empty, open_input, read_bytes
from tagwire_cli.input.encodings import input_hint

if TYPE_CHECKING:
    from tagwire.limits import Limits


_CHUNK: Final = 1 << 16


@contextlib.contextmanager
def at(position: str, hint: Callable[[], str] = str) -> Generator[None]:
    """Put `position`, such as `frame 3`, before the message of a TagwireError raised in the `with` block.

    If decoding fails and `hint` returns a text, raise an InputError with this text instead.
    """
    try:
        yield
    except TagwireError as error:
        if isinstance(error, DecodeError) and (text := hint()):
            raise InputError(text) from None
        if not position:
            raise
        raise InputError(f"{position}: {error}") from error


def frames(file: str, limits: "Limits", *, is_hex: bool) -> Iterator[tuple[str, bytes]]:
    """Yield the frames of a stream, without their sizes. Raises InputError for a truncated frame or an invalid size."""
    splitter = FrameSplitter(max_size=DEFAULT_MAX_SIZE if limits.bytes is None else limits.bytes)
    number = 1
    for chunk in [read_bytes(file, is_hex=True)] if is_hex else _chunks(file):
        # Hex digits, read as a frame's size, would make the command wait for 800 MB or more, so check for them first.
        if number == 1 and not is_hex and (hint := input_hint(chunk, file)):
            raise InputError(hint)
        splitter.feed(chunk)
        complete = iter(splitter)
        while True:
            offset = splitter.offset
            with at(f"frame {number}"):
                frame = next(complete, None)
            if frame is None:
                break
            yield f"frame {number} at byte {offset}", frame
            number += 1
    if not (splitter.offset or splitter.pending):
        note_empty(file)
    with at(f"frame {number}"):
        splitter.close()


def hex_lines(file: str) -> Iterator[tuple[str, bytes]]:
    """Yield the bytes of each line of hex. An empty line yields empty bytes."""
    with open_input(file) as stream:
        for number, line in enumerate(stream, 1):
            with at(f"line {number}"):
                data = from_hex(line)
            yield f"line {number}", data


def _chunks(file: str) -> Iterator[bytes]:
    with open_input(file) as stream:
        while chunk := _some(stream):
            yield chunk


def _some(stream: IO[bytes]) -> bytes:
    """Wait until bytes arrive, and return all that have arrived. At the end of the stream, return b""."""
    read = getattr(stream, "read1", stream.read)
    found: bytes = read(_CHUNK)
    return found
