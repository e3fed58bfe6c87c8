"""Find the API and version of each response in a stream, using a stream of the connection's requests."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tagwire.errors import TagwireError
from tagwire.frames.pairing import Pairing
from tagwire.text_format import count
from tagwire_cli.input.frame_stream import at, frames

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.limits import Limits


Api = tuple[int, int]


class ResponseApis:
    """Finds the API of a response among the requests of its connection. Call an instance with the response."""

    def __init__(self, registry: "Registry", file: str, limits: "Limits", *, is_hex: bool) -> None:
        self._file = file
        self._pairing = Pairing[Api](registry)
        self._apis: dict[bytes, list[Api]] = defaultdict(list)
        self._ambiguous: dict[bytes, str] = {}
        if not self._pairing.has_ids or "RequestHeader" not in registry:
            raise click.UsageError("--requests needs correlation IDs, which the headers of this package do not have.")
        for position, data in frames(file, limits, is_hex=is_hex):
            with at(f"{file}: {position}"):
                header, _ = registry.decode_header(data, strict=False)
            api = header.request_api_key, header.request_api_version
            if self._pairing.ask(None, data, api):
                self._apis[data[4:8]].append(api)

    def checked(self, positioned: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
        """Find ambiguous correlation IDs, for which `__call__` then raises an error. Return the responses unchanged.

        Requests of several APIs or versions may have the same correlation ID. This ID is ambiguous if the number of its
        responses is not the number of its requests, because it is then unknown which requests the responses answer. To
        count the responses, all of them are read before the first one is returned, but only if there is a shared ID.
        """
        shared = {id: apis for id, apis in self._apis.items() if len({*apis}) > 1}
        if not shared:
            return positioned
        responses = [*positioned]
        found = Counter(data[:4] for _, data in responses)
        for id, apis in shared.items():
            if found[id] != len(apis):
                self._ambiguous[id] = (
                    f"correlation ID {_number(id)} is ambiguous: {len(apis)} requests of {len({*apis})} APIs or "
                    f"versions in {self._file} share it, but there is {count(found[id], 'response')}; give API and "
                    "version, or the frames of a single connection"
                )
        return iter(responses)

    def __call__(self, data: bytes) -> Api:
        """Return the API key and version of the request that a response answers."""
        found = self._pairing.answer(None, data) if len(data) >= 4 else None
        if data[:4] in self._ambiguous:
            raise TagwireError(self._ambiguous[data[:4]])
        if found is None:
            raise TagwireError(f"no request in {self._file} has correlation ID {_number(data[:4])}")
        return found

    def rivals(self, data: bytes, api: Api) -> tuple[Api, ...]:
        """Return the APIs of all other requests with the correlation ID of this response."""
        return tuple({*self._apis[data[:4]]} - {api})


def _number(id: bytes) -> int:
    return int.from_bytes(id, "big", signed=True)
