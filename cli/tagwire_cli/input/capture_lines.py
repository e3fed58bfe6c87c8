"""Lines of capture files: JSON objects with `dir` (req or resp), `hex`, and other facts about a frame.

Errors name the invalid key and never its value, which may be a secret.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any, Final, NamedTuple

from tagwire_cli.input.bytes import InputError

__all__ = ["CaptureLine", "beginning", "capture_line", "capture_lines"]

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

    @property
    def connection(self) -> str:
        """What tells its connection from others: run and number, as far as the line has them."""
        return " ".join(str(self.row[key]) for key in ("run", "conn") if key in self.row)


def capture_lines(data: bytes, name: str) -> Iterator[CaptureLine]:
    """The lines of a capture file, packed with gzip or not. Blank lines are skipped. Raises InputError.

    Of a packed file that was cut off, the whole lines come first.
    """
    for number, line in enumerate(_lines(data, name), 1):
        if line.strip():
            yield capture_line(number, line, name)


def capture_line(number: int, line: bytes, name: str) -> CaptureLine:
    """What a line says. Raises InputError."""
    try:
        return _parsed(number, line)
    except ValueError as error:
        raise InputError(f"{name}: line {number} is not a captured frame: {error}") from None


def beginning(data: bytes, most: int) -> bytes:
    """At most so many bytes of what gzip packed; of other data all. Raises zlib.error."""
    return zlib.decompressobj(31).decompress(data, most) if data.startswith(_GZIP) else data


def _lines(data: bytes, name: str) -> Iterator[bytes]:
    if not data.startswith(_GZIP):
        yield from data.splitlines()
        return
    done = 0
    try:
        with gzip.open(BytesIO(data)) as lines:
            for line in lines:
                yield line
                done += 1
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name}: can't be unpacked behind line {done}: {error}") from None


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
