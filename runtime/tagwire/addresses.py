"""Parse server addresses. Test servers accept only local clients (loopback), unless remote clients are allowed."""

from __future__ import annotations

from typing import Final, NamedTuple

from tagwire.errors import TagwireError
from tagwire.text_format import shown, whole_number

LOOPBACK: Final = "127.0.0.1"
_PORTS: Final = range(1 << 16)
_NOT_IN_HOSTS: Final = frozenset("\0/,@ ")
"""Sockets reject hosts with a NUL. The other characters occur in URLs and in lists of addresses."""


class AddressError(TagwireError, ValueError):
    """Raised if a string is not a valid address: `HOST:PORT`, or `PORT` if there is a default host."""


class Address(NamedTuple):
    """The host and port where a server listens.

    `str()` returns the form that Kafka clients accept as a bootstrap server.
    """

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str, host: str = "") -> Address:
        """Parse `HOST:PORT`. If `host` is given, `text` may be just a port. Raises AddressError for invalid text."""
        name, colon, number = text.rpartition(":")
        is_closed = name.startswith("[") == name.endswith("]")
        name = name.removeprefix("[").removesuffix("]") if colon else host
        port = whole_number(number)
        if not name or not is_closed or port is None or port not in _PORTS:
            expected = "PORT or HOST:PORT" if host else "HOST:PORT"
            raise AddressError(f"expected an address {expected} with a port up to 65535, got {shown(text)}")
        if not is_host(name):
            raise AddressError(f"expected the name or IP address of a host, got {shown(name)}")
        return cls(name, port)


def is_host(name: str) -> bool:
    """Return whether a string can be the name or address of a host. For others, Python's sockets raise ValueErrors."""
    try:
        return _NOT_IN_HOSTS.isdisjoint(name) and bool(name.encode("idna"))
    except UnicodeError:  # a part between two dots is empty or too long
        return False


def check_listening(host: str, port: int, what: str, error: type[TagwireError], *, allow_remote: bool) -> None:
    """Raise `error` if other machines can reach a server on this host address, unless `allow_remote` is set.

    Also raises `error` if the string is not a host, or if the number is not a port. An empty string means all addresses
    of this machine.
    """
    from contextlib import suppress
    from ipaddress import ip_address

    if host and not is_host(host):
        raise error(f"expected the name or IP address of a host, got {shown(host)}")
    if port not in _PORTS:
        raise error(f"expected a port from 0 to 65535, got {shown(port)}")
    is_loopback = host == "localhost"
    with suppress(ValueError):
        is_loopback = is_loopback or ip_address(host).is_loopback
    if not is_loopback and not allow_remote:
        raise error(
            f"{what} accepts any client, and other machines can reach it at {host or 'every address of this machine'}; "
            "listen on 127.0.0.1 or ::1, or pass argument `allow_remote=True` to allow remote clients"
        )
