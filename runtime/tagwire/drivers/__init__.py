"""Connections on sockets: `tagwire.connect` blocks, and `tagwire.connect_async` is for asyncio.

They have no metadata cache, no group coordinator and no background threads. docs/howto-broker.md shows how to use them.
"""

import errno
import os
from typing import Final

from tagwire.addresses import Address
from tagwire.errors import TagwireError

READ_SIZE: Final = 1 << 18
"""The maximum number of bytes to read at once."""


class PeerConnectionError(TagwireError):
    """Raised if a peer can't be reached, does not answer in time, or has closed the connection."""


def address_of(address: str | tuple[str, int]) -> Address:
    """Return the host and port of an address. Raises AddressError."""
    return Address.parse(address) if isinstance(address, str) else Address(*address)


def unreachable(address: Address, error: OSError) -> PeerConnectionError:
    """Return the error for a connection that could not be made."""
    reason = reason_of(error) or "it did not answer in time"
    is_handshake = isinstance(error, ConnectionResetError) or "SSL" in reason
    hint = "; does the peer use TLS on this port?" if is_handshake and "CERTIFICATE" not in reason else ""
    return PeerConnectionError(f"{address} can't be reached: {reason}{hint}")


def reason_of(error: OSError) -> str:
    """Return the text of an error without its number."""
    if isinstance(error, ConnectionError):
        return os.strerror(error.errno or errno.ECONNRESET)
    return error.strerror or str(error)
