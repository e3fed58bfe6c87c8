"""Command options for server addresses."""

from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from tagwire.addresses import Address


class _AddressType(click.ParamType):  # type: ignore[type-arg]
    """Parameter type for `HOST:PORT`. A port alone is accepted if a default host is set."""

    name = "address"

    def __init__(self, host: str = "") -> None:
        self._host = host

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Address":
        from tagwire.addresses import Address, AddressError

        try:
            address = value if isinstance(value, Address) else Address.parse(value, self._host)
        except AddressError as error:
            self.fail(str(error), param, ctx)
        if not (address.port or self._host):
            self.fail(f"{value}: expected the port of a server, got 0", param, ctx)
        return address


ADDRESS: Final = _AddressType()
LISTENING: Final = _AddressType("127.0.0.1")
