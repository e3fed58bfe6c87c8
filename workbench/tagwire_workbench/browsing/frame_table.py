"""The facts of many frames in columns of numbers: some 40 bytes a frame, so that a million of them fit."""

from array import array
from collections import deque
from typing import Final

__all__ = ["DAMAGED", "NONE", "REQUEST", "RESPONSE", "FrameTable", "Names"]

REQUEST: Final = 0
RESPONSE: Final = 1
DAMAGED: Final = 2
"""A line that is not a frame, or a gap in a network capture."""
NONE: Final = -1
_WAITING: Final = 1 << 16
"""Requests that a response may answer; before them, others are forgotten."""


class Names:
    """Texts that many frames share, by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text, a new one if it has none."""
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return found


class FrameTable:
    """A row for each frame."""

    def __init__(self, *, has_ids: bool = True) -> None:
        self.has_ids = has_ids
        """Whether frames have correlation ids; without them, responses belong to requests by order."""
        self.kinds = bytearray()
        self.starts = array("q")
        """Where the frame, or the line that says it, begins in its file."""
        self.lengths = array("q")
        """Bytes of that."""
        self.numbers = array("i")
        """What a person calls it, from 1."""
        self.sizes = array("i")
        """Bytes of the frame."""
        self.keys = array("i")
        """API keys; NONE if unknown."""
        self.versions = array("i")
        self.ids = array("i")
        """Correlation ids; 0 if the frame has none, and where none has."""
        self.connections = array("i")
        self.clients = array("i")
        self.partners = array("i")
        """The response to a request, and the request of a response; NONE if there is none."""
        self.connection_names = Names()
        self.client_names = Names()
        self._asked: dict[tuple[int, int], int] = {}
        self._waiting: dict[int, deque[int]] = {}
        """By connection the requests without ids that wait for a response."""

    def __len__(self) -> int:
        return len(self.kinds)

    def add_damaged(self, number: int, start: int, length: int) -> int:
        """Add a row of what is not a frame; gives the number of the row."""
        return self._add(DAMAGED, number, (start, length), 0, (NONE, NONE), 0, NONE, NONE, NONE)

    def add(
        self,
        kind: int,
        number: int,
        place: tuple[int, int],
        data: bytes,
        connection: str,
        client: str = "",
        api: tuple[int, int] | None = None,
        *,
        size: int | None = None,
    ) -> int:
        """Add a row of a frame; of `data` its first 8 bytes are looked at, and its size is taken unless given.

        Without `api`, a request's comes from its bytes, a response's from its request.
        """
        conn = self.connection_names.number(connection)
        partner = NONE
        if kind == REQUEST:
            id = _int(data[4:8]) if self.has_ids else 0
            if api is None and len(data) >= 4:
                api = _int(data[:2]), _int(data[2:4])
            self._ask((conn, id), len(self.kinds))
        else:
            id = _int(data[:4]) if self.has_ids else 0
            partner = self._asker(conn, id)
            if partner != NONE:
                self.partners[partner] = len(self.kinds)
                api = api or (self.keys[partner], self.versions[partner])
        size = len(data) if size is None else size
        return self._add(
            kind, number, place, size, api or (NONE, NONE), id, conn, self.client_names.number(client), partner
        )

    def _add(
        self,
        kind: int,
        number: int,
        place: tuple[int, int],
        size: int,
        api: tuple[int, int],
        id: int,
        connection: int,
        client: int,
        partner: int,
    ) -> int:
        self.starts.append(place[0])
        self.lengths.append(place[1])
        self.numbers.append(number)
        self.sizes.append(size)
        self.keys.append(_fitting(api[0]))
        self.versions.append(_fitting(api[1]))
        self.ids.append(id)
        self.connections.append(connection)
        self.clients.append(client)
        self.partners.append(partner)
        self.kinds.append(kind)
        return len(self.kinds) - 1

    def _ask(self, place: tuple[int, int], row: int) -> None:
        if not self.has_ids:
            self._waiting.setdefault(place[0], deque(maxlen=_WAITING)).append(row)
            return
        self._asked.pop(place, None)  # it goes to the end: the oldest is forgotten first
        self._asked[place] = row
        if len(self._asked) > _WAITING:
            del self._asked[next(iter(self._asked))]

    def _asker(self, connection: int, id: int) -> int:
        """The request that a response answers; NONE if there is none."""
        if self.has_ids:
            return self._asked.get((connection, id), NONE)
        waiting = self._waiting.get(connection)
        return waiting.popleft() if waiting else NONE


def _int(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def _fitting(number: int) -> int:
    """A number of a line that no column holds is none that an API has."""
    return number if -(1 << 31) <= number < 1 << 31 else NONE
