"""The addresses that test servers listen on: loopback only, unless remote clients are allowed."""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from typing import Final

from tagwire.addresses import Address, AddressError
from tagwire.errors import TagwireError

__all__ = ["LOOPBACK", "Address", "AddressError", "check_listening"]

LOOPBACK: Final = "127.0.0.1"


def check_listening(host: str, what: str, error: type[TagwireError], *, allow_remote: bool) -> None:
    """Raise `error` if other machines can reach a server on this host address, unless `allow_remote` is set."""
    is_loopback = host == "localhost"
    with suppress(ValueError):
        is_loopback = is_loopback or ipaddress.ip_address(host).is_loopback
    if not is_loopback and not allow_remote:
        raise error(
            f"{what} answers anyone, and other machines can reach it at {host or 'every address of this machine'}; "
            "listen on 127.0.0.1 or ::1, or allow remote clients with argument `allow_remote=True`"
        )
