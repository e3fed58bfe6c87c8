"""The state that all connections of a proxy share. This module does no I/O; the module `server` adds sockets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final

from tagwire.addresses import LOOPBACK, Address
from tagwire.frames.frame_headers import names_request
from tagwire.frames.splitter import DEFAULT_MAX_SIZE
from tagwire_workbench.proxy.advertised import Advertised
from tagwire_workbench.proxy.capture_file import ProxyError
from tagwire_workbench.proxy.connection import ProxyConnection
from tagwire_workbench.proxy.passing import Budget
from tagwire_workbench.proxy.recorded import RecordedFrame

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire_workbench.proxy.advertised import Moved

_MOST_HELD: Final = 1 << 28
_PROBLEMS_KEPT: Final = 1_000


class RecordingProxy:
    """Passes bytes between clients and servers, and calls `on_frame` with each frame.

    `server` is the server for clients that connect to the proxy's first address. The default registry is Kafka's.
    `on_close` is called when a connection has closed. `max_size` is the maximum number of bytes in a frame, and
    `max_held` in the incomplete frames of all connections together. Raises ProxyError for a package whose requests have
    no API key and version.
    """

    def __init__(
        self,
        server: Address | tuple[str, int],
        on_frame: Callable[[RecordedFrame], object],
        registry: Registry | None = None,
        *,
        on_close: Callable[[RecordedFrame], object] | None = None,
        on_problem: Callable[[str], object] | None = None,
        max_size: int = DEFAULT_MAX_SIZE,
        max_held: int = _MOST_HELD,
    ) -> None:
        if registry is None:
            from tagwire.frames.known_packages import kafka_messages

            registry = kafka_messages()
        if not names_request(registry.request_header):
            raise ProxyError(
                f"{registry!r}: a proxy can't identify requests, because some versions of RequestHeader do not "
                "begin with RequestApiKey and RequestApiVersion"
            )
        self.server = Address(*server)
        self.registry = registry
        self.max_size = max_size
        self.budget = Budget(max_held)
        self.advertised = Advertised(registry)
        self.record = on_frame
        self.record_close = on_close
        self.listeners: dict[Address, Address] = {}
        """The address at which the proxy listens for each server."""
        self.problems: list[str] = []
        """The first thousand problems: invalid frames, failed rewrites and unreachable servers."""
        self.problem_count = 0
        self._on_problem = on_problem
        self._connections = 0

    def connect(self, server: Address | None = None, moved: Moved | None = None) -> ProxyConnection:
        """Return a new connection. The caller opens its sockets, and passes the received bytes to the connection.

        `moved` maps an advertised address to the address that clients should use (default: no change).
        """
        self._connections += 1
        return ProxyConnection(self, self._connections, server or self.server, moved or (lambda *address: address))

    def note(self, problem: str) -> None:
        """Report a problem. After the first thousand, problems are only counted. May be called from any thread."""
        self.problem_count += 1
        if len(self.problems) >= _PROBLEMS_KEPT:
            return
        self.problems.append(problem)
        if self._on_problem is not None:
            self._on_problem(problem)
            if len(self.problems) == _PROBLEMS_KEPT:
                self._on_problem("further problems are counted, but not shown")

    def serving(
        self,
        host: str = LOOPBACK,
        port: int = 0,
        *,
        allow_remote: bool = False,
        on_listening: Callable[[Address, Address], object] | None = None,
    ) -> AbstractAsyncContextManager[Address]:
        """Listen in the running event loop: `async with proxy.serving() as address`.

        Port 0 means any free port. For every other advertised server, the proxy listens on another free port of the
        host, and calls `on_listening` with the new address and the server.

        Raises ProxyError if other machines can reach the host (unless `allow_remote` is set), if the address is not
        available, or if a server is the proxy itself.
        """
        from tagwire_workbench.proxy.server import serving

        return serving(self, host, port, allow_remote=allow_remote, on_listening=on_listening)

    @property
    def connection_count(self) -> int:
        return self._connections

    def __repr__(self) -> str:
        return f"<recording proxy of {self.registry!r} for {self.server}>"
