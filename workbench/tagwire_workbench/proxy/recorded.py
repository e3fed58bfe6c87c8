"""A frame that passed a proxy, and the line that it is in a capture file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tagwire.testing.addresses import Address

__all__ = ["RecordedFrame", "line_start"]


@dataclass(frozen=True, slots=True)
class RecordedFrame:
    """A frame as its sender sent it: a response has the addresses of the servers themselves."""

    connection: int
    """The number of its connection, from 1."""
    is_request: bool
    api_key: int
    """That of the request, also for a response."""
    version: int
    """That of the request, also for a response."""
    correlation_id: int | None
    client_id: str | None
    server: Address
    """The server that the client asked."""
    time: float
    """Seconds since 1970."""
    data: bytes
    """Header and body, without the size."""
    is_close: bool = False
    """Whether this is not a frame, but marks where the connection closed."""


def line_start(frame: RecordedFrame, run: str, label: str | None) -> bytes:
    """Return the line of a frame in a capture file, up to the hex digits of its bytes."""
    row = {
        "run": run,
        "conn": frame.connection,
        "client_label": label or frame.client_id or "?",
        "client_id": frame.client_id,
        "dir": "close" if frame.is_close else "req" if frame.is_request else "resp",
        "api_key": frame.api_key,
        "api_version": frame.version,
        "correlation_id": frame.correlation_id,
        "server": str(frame.server),
        "timestamp": round(frame.time * 1000),
    }
    if frame.is_close:
        row = {name: row[name] for name in ("run", "conn", "dir", "server", "timestamp")}
    return json.dumps(row)[:-1].encode() + b', "hex": "'
