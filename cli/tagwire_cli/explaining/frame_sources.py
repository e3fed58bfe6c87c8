"""Many frames out of one input: a stream with sizes, or a file of captured ones with both directions.

A captured response needs the API and version of its request: they are noted
with it, or its request is in the same file, on the same connection, with the
same correlation id.
"""

import json
import sys
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Final, NamedTuple

import click

from tagwire.frames.pcap import MAGIC, NetworkGap, network_frames
from tagwire.frames.registry import Registry
from tagwire.frames.splitter import FrameSplitter
from tagwire_cli.arguments.numbers import whole_number
from tagwire_cli.input.bytes import InputError
from tagwire_cli.input.capture_lines import CaptureLine, beginning, capture_lines

__all__ = ["InputFrame", "captured_frames", "frame_of", "is_capture", "is_stream", "stream_frames"]
__all__ += ["wanted"]

_NAME: Final = "captured frames"


class InputFrame(NamedTuple):
    """A frame without its size, and what is known of it beside its bytes."""

    number: int
    """From 1, in the order of the input."""
    title: str
    data: bytes
    is_request: bool | None = None
    """None if unknown."""
    api: tuple[int, int] | None = None
    """Of a response: API key and version of its request."""
    fault: str = ""
    """Why there is no frame: a gap in the capture."""


def is_stream(data: bytes) -> bool:
    """Whether sizes lead from the first byte to the last. That happens by chance once in four thousand million."""
    splitter = FrameSplitter(max_size=len(data))
    place = 0
    while place + 4 < len(data):
        size = int.from_bytes(data[place : place + 4], "big", signed=True)
        if not 0 < size <= splitter.max_size:
            return False
        place += 4 + size
    return 0 < len(data) == place


def stream_frames(data: bytes) -> Iterator[InputFrame]:
    """The frames of a stream. Raises DecodeError after the last whole one for an invalid size or end."""
    splitter = FrameSplitter()
    splitter.feed(data)
    offset = 0
    for number, frame in enumerate(splitter, 1):
        yield InputFrame(number, f"frame {number} at byte {offset}", frame)
        offset = splitter.offset
    splitter.close()


def is_capture(data: bytes) -> bool:
    """Whether it is a network capture, or its first line a captured frame; gzipped or not."""
    if data[:4] in MAGIC:
        return True
    try:
        first = beginning(data, 1 << 24).lstrip().partition(b"\n")[0]
        row = json.loads(first)
        return isinstance(row, dict) and "dir" in row and "hex" in row
    except (ValueError, zlib.error, RecursionError):
        return False


def captured_frames(data: bytes, port: int, registry: Registry) -> Iterator[InputFrame]:
    """The frames of a network capture, or of a file with a JSON object a line: dir (req or resp), hex, and of
    responses api_key and api_version. There `run` and `conn` tell connections apart.

    A response has the API and version of its request. A gap in a network capture appears in its place, as a fault.
    Raises InputError for a line that is not a frame, CaptureError.
    """
    rows = list(_network(data, port, registry) if data[:4] in MAGIC else _lines(data))
    asked: dict[tuple[str, bytes], tuple[int, int]] = {}
    for connection, frame in rows:
        if frame.fault:
            yield frame
            continue
        number = frame.data[4:8] if frame.is_request else frame.data[:4]
        if frame.is_request:
            key, version = frame.data[:2], frame.data[2:4]
            asked[connection, number] = (
                int.from_bytes(key, "big", signed=True),
                int.from_bytes(version, "big", signed=True),
            )
            yield frame
        else:
            yield frame if frame.api else frame._replace(api=asked.get((connection, number)))


def _network(data: bytes, port: int, registry: Registry) -> Iterator[tuple[str, InputFrame]]:
    """Sort by time, because frames after a gap are found late."""
    found = sorted(network_frames(BytesIO(data), port, registry), key=lambda each: each.time)
    for number, each in enumerate(found, 1):
        title = f"frame {number}, {'request' if each.is_request else 'response'}, {each.connection}"
        if isinstance(each, NetworkGap):
            yield each.connection, InputFrame(number, title, b"", fault=str(each))
        else:
            yield each.connection, InputFrame(number, title, each.data, each.is_request)


def _lines(data: bytes) -> Iterator[tuple[str, InputFrame]]:
    for line in capture_lines(data, _NAME):
        yield line.connection, frame_of(line)


def frame_of(line: CaptureLine) -> InputFrame:
    """The frame of a line; a response has its API if the line says it."""
    client = line.row.get("client_label")
    who = f", {client}" if isinstance(client, str) and client.isprintable() else ""
    title = f"frame {line.number}, {'request' if line.is_request else 'response'}{who}"
    return InputFrame(line.number, title, line.data, line.is_request, None if line.is_request else line.api)


def wanted(frames: Iterator[InputFrame], only: str | None) -> Iterator[InputFrame]:
    """Those whose numbers are in a text such as `1,4-6,9-`; None is all. Raises click.BadParameter for other texts."""
    if only is None:
        return frames
    ranges = [_range(each, only) for each in only.split(",")]
    return _chosen(frames, ranges, only)


def _chosen(frames: Iterator[InputFrame], ranges: list[tuple[int, int]], only: str) -> Iterator[InputFrame]:
    number = 0
    is_any = False
    for frame in frames:
        number = frame.number
        if any(low <= number <= high for low, high in ranges):
            is_any = True
            yield frame
    if not is_any:
        raise InputError(f"--only {only}: the input has {number} {'frame' if number == 1 else 'frames'}")


def _range(text: str, only: str) -> tuple[int, int]:
    first, dash, last = text.strip().partition("-")
    low, high = whole_number(first), whole_number(last or first)
    if low is None or high is None:
        raise click.BadParameter(f"{only!r} is not a list of frames such as 1,4-6", param_hint="--only")
    return low, sys.maxsize if dash and not last else high
