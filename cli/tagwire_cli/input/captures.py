"""Captured traffic: files of frames that real programs sent, and reading them back and forth.

A capture file has one JSON object a line, gzipped or not:

    {"run", "conn", "client_label", "client_id", "dir": "req" | "resp",
     "api_key", "api_version", "correlation_id", "hex"}

`hex` is a frame without its size; a response has the API key and the version of
its request. Beside the file there may be `sender_faults.json`, an object from
the sha256 of `dir` and `hex` to a text: frames whose sender erred, which are to
be refused, and how it erred.
"""

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tagwire.errors import TagwireError
from tagwire_cli.input.bytes import InputError
from tagwire_cli.input.capture_lines import CaptureLine, capture_lines

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message import Message

__all__ = ["Capture", "message_of", "read_captures", "read_faults", "round_trip"]

_FAULTS: Final = "sender_faults.json"


@dataclass(frozen=True, slots=True)
class Capture:
    """A frame that was sent, and by whom; for a response, by whom it was asked for."""

    client: str
    is_request: bool
    api_key: int
    version: int
    data: bytes

    @property
    def digest(self) -> str:
        """What `sender_faults.json` knows it by."""
        direction = "req" if self.is_request else "resp"
        return sha256(f"{direction}{self.data.hex()}".encode()).hexdigest()


def read_captures(path: Path) -> list[Capture]:
    """The frames of a capture file. Raises InputError, with the line, for any other file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error}") from None
    return [_capture(line, path) for line in capture_lines(data, str(path))]


def _capture(line: CaptureLine, path: Path) -> Capture:
    if line.api is None:
        raise InputError(f"{path}: line {line.number} is not a captured frame: it has no api_key or no api_version")
    key, version = line.api
    return Capture(str(line.row.get("client_label", "?")), line.is_request, key, version, line.data)


def read_faults(captures: Path) -> dict[str, str]:
    """The known faults of senders, listed beside a capture file by digest; empty without a list."""
    path = captures.with_name(_FAULTS)
    try:
        faults = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise TagwireError(f"{path}: can't be read: {error}") from None
    if not isinstance(faults, dict):
        raise TagwireError(f"{path}: expected a JSON object of digests and texts")
    return {str(digest): str(text) for digest, text in faults.items()}


def message_of(registry: "Registry", capture: Capture) -> "type[Message]":
    """The class of a frame's message. Raises UnknownMessageError for an API that the package lacks."""
    return registry.find("request" if capture.is_request else "response", capture.api_key)


def round_trip(registry: "Registry", capture: Capture) -> bytes:
    """The frame decoded strictly, header and body, and encoded again. Raises TagwireError where it is refused."""
    if capture.is_request:
        frame = registry.decode_request(capture.data)
        return registry.encode_request(frame.message, frame.version, header=frame.header)
    frame = registry.decode_response(capture.data, capture.api_key, capture.version)
    return registry.encode_response(frame.message, frame.version, header=frame.header)
