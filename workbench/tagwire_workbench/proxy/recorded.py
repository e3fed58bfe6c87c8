"""A frame that passed the proxy, and its line in a capture file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tagwire.addresses import Address


@dataclass(slots=True)
class RecordedFrame:
    """A frame as its sender sent it. It still has the servers' addresses, which the proxy replaces for clients."""

    connection: int
    """Number of the connection, from 1."""
    is_request: bool
    api_key: int
    """The API key of this request, or of the request that this response answers."""
    version: int
    """The version of this request, or of the request that this response answers."""
    correlation_id: int | None
    client_id: str | None
    server: Address
    """The server that the client connected to."""
    time: float
    """Seconds since 1970."""
    data: bytes
    """Header and body, without the size."""
    is_close: bool = False
    """Whether there is no frame, because the connection ended."""


def line_start(frame: RecordedFrame, run: str, label: str | None) -> bytes:
    """Return the beginning of a frame's line in a capture file, up to the hex digits of the frame."""
    if frame.is_close:
        row = {"run": run, "conn": frame.connection, "dir": "close", "server": str(frame.server)}
        start, end = json.dumps(row)[:-1], ""
    else:
        start, end = _constant_parts(
            run, frame.connection, label, frame.client_id, frame.is_request, frame.api_key, frame.version, frame.server
        )
        start += "null" if frame.correlation_id is None else str(frame.correlation_id)
    return f'{start}{end}, "timestamp": {round(frame.time * 1000)}, "hex": "'.encode()


@lru_cache(1024)
def _constant_parts(
    run: str,
    connection: int,
    label: str | None,
    client_id: str | None,
    is_request: bool,
    api_key: int,
    version: int,
    server: Address,
) -> tuple[str, str]:
    """Return the parts of a capture line before and after the correlation ID."""
    row = {
        "run": run,
        "conn": connection,
        "client_label": label or client_id or "?",
        "client_id": client_id,
        "dir": "req" if is_request else "resp",
        "api_key": api_key,
        "api_version": version,
    }
    return f'{json.dumps(row)[:-1]}, "correlation_id": ', f', "server": {json.dumps(str(server))}'
