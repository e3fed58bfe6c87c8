"""Read captures, and lists of frames that their senders encoded wrongly.

Such a list is the file `sender_faults.json` next to a capture. For each wrong frame, it maps the SHA-256 of the frame's
values `dir` and `hex` to the reason why the frame must be rejected.
"""

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tagwire.captures import CaptureError, capture_kind, frames_of_stream, paired, unzipped
from tagwire.errors import TagwireError
from tagwire.frames.pcap import tcp_segments
from tagwire_cli.input.encodings import input_hint
from tagwire_cli.input.files import InputError, note_empty, read_bytes
from tagwire_cli.input.filters import frame_test

if TYPE_CHECKING:
    from tagwire.captures import CapturedFrame
    from tagwire.frames.registry import Registry


_FAULTS: Final = "sender_faults.json"


def captured_frames(
    file: str, registry: "Registry", *, port: int = 9092, closes: bool = False
) -> Iterator["CapturedFrame"]:
    """Yield the frames of a capture file, or of standard input for `-`. Responses get the API key of their request.

    With `closes`, also yield an entry for each closed connection. Raises InputError if the file isn't a capture, and
    CaptureError for a line that isn't a captured frame.
    """
    data = read_bytes(file, is_hex=False)
    return frames_in(data, file, registry, port=port, closes=closes)


def frames_in(
    data: bytes, file: str, registry: "Registry", *, port: int, closes: bool = False, keeps_damaged: bool = False
) -> Iterator["CapturedFrame"]:
    """Yield the frames in the bytes of a capture, as `captured_frames` does. `file` is the name for error messages.

    With `keeps_damaged`, a line that isn't a captured frame becomes a frame with an error. Raises InputError if the
    data isn't a capture.
    """
    name = "the input" if file == "-" else file
    if not data.strip():
        note_empty(file)
    frames = frames_of_stream(BytesIO(data), name, registry, port=port, keeps_damaged=keeps_damaged)
    try:
        yield from paired(some_on_port(frames, data, name, port), registry, closes=closes)
    except CaptureError as error:
        if capture_kind(data) or data.lstrip().startswith(b"{"):
            raise
        if hint := input_hint(data, file):
            raise InputError(f"{name} is not a capture: {hint}") from None
        raise InputError(f"{error}; expected a capture in the format JSON lines, pcap or pcapng") from None


def some_on_port(frames: Iterator["CapturedFrame"], data: bytes, name: str, port: int) -> Iterator["CapturedFrame"]:
    """Check that a network capture has frames on `port`, and yield all frames. Raises InputError if there are none."""
    first = next((each for each in frames if not each.is_close), None)
    if first is not None:
        yield first
        yield from frames
        return
    stream, is_network = unzipped(BytesIO(data), data[:4], name)
    if is_network:
        segments = (each for each in tcp_segments(stream) if each.data)
        ports = sorted({port for each in segments for port in (each.source_port, each.target_port)})
        if not ports:
            raise InputError(f"{name}: no packet of the network capture contains TCP data")
        found = f"TCP data was found on ports {', '.join(map(str, ports))}"
        raise InputError(f"{name}: no frames on port {port}; {found}; give the port of the brokers with --port")


def chosen_frames(file: str, registry: "Registry", where: str | None, port: int) -> Iterator["CapturedFrame"]:
    """Yield the frames of a capture that match a `--where` filter; all frames if `where` is None.

    Raises click.BadParameter for an invalid filter, and InputError or CaptureError for an invalid capture.
    """
    test = None if where is None else frame_test(registry, where)
    return (frame for frame in captured_frames(file, registry, port=port) if test is None or test(frame))


def digest(frame: "CapturedFrame") -> str:
    """Return the hash that identifies a frame in `sender_faults.json`."""
    from hashlib import sha256  # imported here, because the import is slow

    return sha256(f"{'req' if frame.is_request else 'resp'}{frame.data.hex()}".encode()).hexdigest()


def read_faults(captures: Path) -> dict[str, str]:
    """Return a dict from frame hashes to the reasons in `sender_faults.json`, or {} if there is no such file."""
    path = captures.with_name(_FAULTS)
    try:
        faults = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise TagwireError(f"{path} can't be read: {error}") from None
    if not isinstance(faults, dict):
        raise TagwireError(f"{path}: expected a JSON object that maps each frame's hash to a string")
    return {str(digest): str(text) for digest, text in faults.items()}


def round_trip(registry: "Registry", captured: "CapturedFrame") -> bytes:
    """Decode a frame strictly, encode it again, and return the bytes. Raises TagwireError for an invalid frame."""
    frame = captured.decode()
    encode = registry.encode_request if captured.is_request else registry.encode_response
    return encode(frame.message, frame.version, header=frame.header)
