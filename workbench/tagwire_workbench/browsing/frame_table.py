"""The properties of frames, in columns of numbers. A frame takes about 40 bytes, so a million frames fit in memory."""

from array import array
from struct import unpack_from
from typing import Final

from tagwire.frames.pairing import SASL_TOKEN, Pairing, SaslTokens
from tagwire.frames.registry import Registry

REQUEST: Final = 0
RESPONSE: Final = 1
DAMAGED: Final = 2
"""The kind of a row without a frame: an invalid line, a gap in a network capture, or a SASL token."""
NONE: Final = -1
_WAITING: Final = 1 << 16
"""Maximum number of requests waiting for a response; older ones are never paired."""


class Names:
    """Strings that many frames share, such as client names. Each distinct string is stored once and has a number."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number that stands for a string. A new string gets the next number."""
        if text not in self._numbers:
            self._numbers[text] = len(self.names)
            self.names.append(text)
        return self._numbers[text]


class FrameTable:
    """A table of the properties of frames. Each frame has a row."""

    def __init__(self, registry: Registry) -> None:
        self.pairing = Pairing[int](registry, limit=_WAITING)
        self.has_ids = self.pairing.has_ids
        """Whether frames have correlation IDs. Without them, responses are paired with requests in order."""
        self._tokens = SaslTokens(registry)
        self.gaps: dict[int, str] = {}
        """The errors that rows show instead of a frame."""
        self.kinds = bytearray()
        self.starts = array("q")
        """Start of the frame, or of its line, in the file."""
        self.lengths = array("q")
        """Length of the frame or line in bytes."""
        self.numbers = array("i")
        """Frame number (or line number in JSON lines) shown to the user, from 1."""
        self.sizes = array("i")
        """Size of the frame in bytes."""
        self.keys = array("i")
        """API key of the frame; NONE if unknown."""
        self.versions = array("i")
        self.ids = array("i")
        """Correlation ID of the frame, or 0 if it has none."""
        self.connections = array("i")
        self.clients = array("i")
        self.partners = array("i")
        """Row of a request's response, or of a response's request; NONE if there is none."""
        self._columns = [each for each in vars(self).values() if isinstance(each, array)]
        self.connection_names = Names()
        self.client_names = Names()

    def __len__(self) -> int:
        return len(self.kinds)

    def close(self, connection: str) -> None:
        """Note that a connection was closed, so that its requests get no response from a later one with its name."""
        self.pairing.close(self.connection_names.number(connection))
        self._tokens.close(self.connection_names.number(connection))

    def add_damaged(self, number: int, start: int, length: int, connection: str = "", gap: str = "") -> int:
        """Add a row for an entry that could not be read as a frame. Returns the row number."""
        self.pairing.miss(self.connection_names.number(connection))
        if gap:
            self.gaps[len(self.kinds)] = gap
        return self._add(DAMAGED, start, length, number, 0, NONE, NONE, 0, NONE, NONE, NONE)

    def add(
        self,
        kind: int,
        number: int,
        span: tuple[int, int],
        data: bytes,
        connection: str,
        client: str = "",
        api: tuple[int, int] | None = None,
        *,
        size: int | None = None,
        is_silent: bool = False,
    ) -> int:
        """Add a row for a frame. `data` is the frame, or at least its first 8 bytes.

        `size` is the frame's size, by default `len(data)`. `is_silent` means that a request gets no response. `api` is
        the frame's API key and version. By default, a request's are read from its first bytes, and a response's are
        copied from its request.
        """
        conn = self.connection_names.number(connection)
        partner = NONE
        if kind == REQUEST:
            if api is None and len(data) >= 4:
                api = unpack_from(">hh", data)
            if not is_silent:
                self.pairing.wait(conn, data, len(self.kinds))
        else:
            noted = api
            found = self.pairing.answer(conn, data, lambda row: noted in (None, (self.keys[row], self.versions[row])))
            if found is not None:
                partner = found
                self.partners[partner] = len(self.kinds)
                api = api or (self.keys[partner], self.versions[partner])
        id = self.pairing.key(conn, data, is_request=kind == REQUEST)[1] or 0
        if self._tokens.has(conn, data, is_request=kind == REQUEST, is_paired=api is not None):
            return self.add_damaged(number, *span, connection, SASL_TOKEN)
        key, version = api or (NONE, NONE)
        size = len(data) if size is None else size
        return self._add(kind, *span, number, size, key, version, id, conn, self.client_names.number(client), partner)

    def _add(self, kind: int, *row: int) -> int:
        """Add a row with the values of `starts` to `partners`, in the order of the attributes."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        self.kinds.append(kind)
        return len(self.kinds) - 1
