"""Which API and version a response answers: that of the request with its correlation id, from a file of requests."""

from typing import TYPE_CHECKING

import click

from tagwire.errors import TagwireError
from tagwire_cli.input.frame_stream import at, frames

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.limits import Limits

__all__ = ["Asked"]


class Asked:
    """Which API and version a response answers: those of the request with its correlation id."""

    def __init__(self, registry: "Registry", file: str, limits: "Limits", *, is_hex: bool) -> None:
        self._file = file
        self._by_id: dict[int, tuple[int, int]] = {}
        headers = (registry.request_header, registry.response_header)
        if any("correlation_id" not in header.__slots__ for header in headers):
            raise click.UsageError("--requests needs correlation ids, which the headers of this package lack.")
        for place, data in frames(file, limits, is_hex=is_hex):
            with at(f"{file}: {place}"):
                header, _ = registry.decode_header(data, strict=False)
            self._by_id[header.correlation_id] = (header.request_api_key, header.request_api_version)

    def __call__(self, data: bytes) -> tuple[int, int]:
        # The first four bytes, in every version of a response's header.
        correlation_id = int.from_bytes(data[:4], "big", signed=True)
        if len(data) < 4 or correlation_id not in self._by_id:
            raise TagwireError(f"no request in {self._file} has correlation id {correlation_id}")
        return self._by_id[correlation_id]
