"""What is played of a capture: a request is sent where it stands, and a response is awaited where it stands.

So requests keep their order across connections: one that a server answers only after
another client has asked something is not waited for too early.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from tagwire_cli.input.bytes import InputError
from tagwire_cli.input.capture_lines import CaptureLine
from tagwire_workbench.proxy.pairing import has_leading_ids

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry

__all__ = ["Step", "steps"]


class Step(NamedTuple):
    """A line of a capture."""

    line: int
    connection: str
    """What tells its connection apart from others: run and number."""
    is_request: bool
    key: int | None
    """The correlation id, by which a response is found; None in protocols where it is found by order."""
    api_key: int
    version: int
    data: bytes
    time: float | None
    """When it passed, in seconds; None if the line does not say it."""


def steps(registry: "Registry", lines: Iterable[CaptureLine], name: str) -> Iterator[Step]:
    """The steps of these lines. Left out are responses without their request. Raises InputError for a line without
    what is needed."""
    by_id = has_leading_ids(registry)
    asked: Counter[tuple[str, int | None]] = Counter()
    for line in lines:
        start = 4 if line.is_request else 0
        if line.api is None:
            raise InputError(f"{name}: line {line.number} can't be played: it has no api_key or no api_version")
        if by_id and len(line.data) < start + 4:
            raise InputError(f"{name}: line {line.number} can't be played: its frame ends before its correlation id")
        number = int.from_bytes(line.data[start : start + 4], "big", signed=True) if by_id else None
        connection = line.connection
        if line.is_request:
            asked[connection, number] += 1
        elif asked[connection, number]:
            asked[connection, number] -= 1
        else:
            continue
        milliseconds = line.row.get("timestamp")
        time = milliseconds / 1000 if isinstance(milliseconds, int | float) else None
        yield Step(line.number, connection, line.is_request, number, *line.api, line.data, time)
