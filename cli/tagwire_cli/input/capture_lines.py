"""Lines of capture files: JSON objects with `dir` (req or resp), `hex`, and other facts about a frame.

Errors name the invalid key and never its value, which may be a secret.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tagwire_cli.input.bytes import InputError

__all__ = ["CaptureLine", "capture_line", "capture_lines", "unpacked"]

_GZIP: Final = b"\x1f\x8b"


class CaptureLine(NamedTuple):
    """A frame of a capture file."""

    number: int
    """The line, from 1."""
    row: dict[str, Any]
    """The whole object."""
    is_request: bool
    api: tuple[int, int] | None
    """API key and version, if the line has them; those of a response are its request's."""
    data: bytes
    """The frame, without its size."""


def capture_lines(data: bytes, name: str) -> Iterator[CaptureLine]:
    """The lines of a capture file, packed with gzip or not. Blank lines are skipped. Raises InputError."""
    for number, line in enumerate(unpacked(data, name).splitlines(), 1):
        if line.strip():
            yield capture_line(number, line, name)


def capture_line(number: int, line: bytes, name: str) -> CaptureLine:
    """What a line says. Raises InputError."""
    try:
        return _parsed(number, line)
    except ValueError as error:
        raise InputError(f"{name}: line {number} is not a captured frame: {error}") from None


def unpacked(data: bytes, name: str, most: int = 0) -> bytes:
    """What gzip packed, `most` bytes of it if that is not 0; other data as it is. Raises InputError."""
    if not data.startswith(_GZIP):
        return data
    try:
        return zlib.decompressobj(31).decompress(data, most) if most else gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name}: can't be unpacked: {error}") from None


def _parsed(number: int, line: bytes) -> CaptureLine:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(row, dict):
        raise ValueError("it is not a JSON object")
    if row.get("dir") not in ("req", "resp"):
        raise ValueError("dir must be req or resp")
    try:
        data = bytes.fromhex(row["hex"])
    except (KeyError, TypeError, ValueError):
        raise ValueError("hex must be a text of hex digits") from None
    return CaptureLine(number, row, row["dir"] == "req", _api(row), data)


def _api(row: Mapping[str, Any]) -> tuple[int, int] | None:
    key, version = row.get("api_key"), row.get("api_version")
    if key is None or version is None:
        return None
    try:
        return int(key), int(version)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("api_key and api_version must be numbers") from None
