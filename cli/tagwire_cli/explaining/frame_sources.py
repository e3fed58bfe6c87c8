"""Read the frames of an input.

The input is either a stream of frames, each preceded by its size, or a capture of requests and responses.
"""

import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import click

from tagwire.captures import CapturedFrame
from tagwire.errors import DecodeError
from tagwire.frames.registry import Registry
from tagwire.frames.splitter import FrameSplitter
from tagwire.text_format import whole_number
from tagwire_cli.input.bytes import InputError
from tagwire_cli.input.captures import frames_in


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
    """The error if there is a gap in the capture instead of a frame."""


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


def stream_frames(data: bytes) -> Iterator[InputFrame]:
    """Yield the frames of a stream. Raises DecodeError at a frame that has an invalid size or is truncated."""
    splitter = FrameSplitter()
    splitter.feed(data)
    offset = 0
    for number, frame in enumerate(splitter, 1):
        yield InputFrame(number, f"frame {number} at byte {offset}", frame)
        offset = splitter.offset
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
        raise InputError(
            f"--only {only} selects no frame; the input has {number} {'frame' if number == 1 else 'frames'}"
        )


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
