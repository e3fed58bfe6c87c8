"""Where servers of tests listen, and whom they answer: on loopback only, unless it is wanted otherwise."""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from typing import Final, NamedTuple

from tagwire.errors import TagwireError
from tagwire.text_format import shown

__all__ = ["LOOPBACK", "Address", "AddressError", "check_listening"]

LOOPBACK: Final = "127.0.0.1"
_PORTS: Final = range(1 << 16)


class AddressError(TagwireError, ValueError):
    """A text that is no address."""


class Address(NamedTuple):
    """Where a server listens. As a text it is what clients take as their bootstrap server."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str, host: str = "") -> Address:
        """The address that `str` shows; with `host`, the port alone is enough. Raises AddressError."""
        name, colon, number = text.rpartition(":")
        name = name.removeprefix("[").removesuffix("]") if colon else host
        if not name or not (number.isascii() and number.isdigit()) or int(number[:9]) not in _PORTS:
            expected = "PORT or HOST:PORT" if host else "HOST:PORT"
            raise AddressError(f"{shown(text)} is no address; {expected} with a port up to 65535 was expected")
        return cls(name, int(number))


def check_listening(host: str, what: str, error: type[TagwireError], *, allow_remote: bool) -> None:
    """Refuse to listen where other machines come in, unless that is wanted. Raises `error`."""
    is_loopback = host == "localhost"
    with suppress(ValueError):
        is_loopback = is_loopback or ipaddress.ip_address(host).is_loopback
    if not is_loopback and not allow_remote:
        raise error(
            f"{host or 'every address'} is reachable from other machines, and {what} answers anybody; "
            f"listen on 127.0.0.1 or ::1, or allow remote clients (allow_remote=True, --allow-remote)"
        )
