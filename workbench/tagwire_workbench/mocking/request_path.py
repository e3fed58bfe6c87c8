"""Paths to values of a request: `topics[0].name`, `topics[].name` for every element, `header.client_id`.

Paths consist of attribute names, and are checked against the message classes when a script is read. A request may still
have no value at a path, for example because an array has a single element.
"""

import re
from typing import Any, Final

from tagwire.errors import TagwireError
from tagwire.message import Message
from tagwire.message.json import field_to_json
from tagwire.testing.peer import Received
from tagwire.text_format import near

ABSENT: Final = object()
"""Returned by `RequestPath.value` if the request has no such value. (None would mean null.)"""
_STEP: Final = re.compile(r"([^\W\d]\w*)((?:\[[0-9]{0,9}\])*)")
_INDEX: Final = re.compile(r"\[(\d*)\]")
_HEADER: Final = "header."


class PathError(TagwireError):
    """Raised for a path that leads to no field in any version of a request."""


class RequestPath:
    """A path, checked against the classes of a request and its header."""

    def __init__(self, text: str, message: type[Message], header: type[Message]) -> None:
        self.text = text
        self.is_header = text.startswith(_HEADER)
        self.steps: list[str | int | None] = []
        """The steps of the path: field names, indexes, and None for every element of an array."""
        cls: Any = header if self.is_header else message
        for part in text.removeprefix(_HEADER).split("."):
            cls = self._add(part, cls)

    def _add(self, part: str, cls: Any) -> Any:
        """Check one part of a path, such as `topics[0]`, and append its steps.

        Return the class of the struct at this part of the path, or None if there is no struct.
        """
        found = _STEP.fullmatch(part)
        if found is None:
            raise PathError(f"expected a path such as topics[0].name, got {self.text!r}")
        if cls is None:
            raise PathError(f"{self.text}: {self.steps[-1]} has no fields")
        rows = {row.name: row for row in cls.FIELDS}
        name, indexes = found[1], _INDEX.findall(found[2])
        if name not in rows:
            raise PathError(f"{self.text}: {cls.__name__} has no field {name!r}{near(name, rows)}")
        row = rows[name]
        depth = row.type.count("[]")
        if len(indexes) > depth:
            raise PathError(f"{self.text}: {name} is not an array")
        self.steps += [name, *(int(index) if index else None for index in indexes)]
        return row.struct if len(indexes) == depth else None

    def value(self, request: Received) -> Any:
        """Return the JSON value at this path in a request, or ABSENT if there is no such value."""
        found = _value(request.header if self.is_header else request.message, self.steps)
        return ABSENT if found is ABSENT else field_to_json(found, request.version)

    def json(self, request: Received) -> Any:
        """Return the JSON value at this path in a request, or None (null) if there is no such value."""
        found = self.value(request)
        return None if found is ABSENT else found


def _value(value: Any, steps: list[str | int | None]) -> Any:
    for at, step in enumerate(steps):
        if value is None:
            return ABSENT
        if step is None:
            values = [_value(element, steps[at + 1 :]) for element in value]
            return [each for each in values if each is not ABSENT]
        if isinstance(step, int):
            if step >= len(value):
                return ABSENT
            value = value[step]
        else:
            value = getattr(value, step)
    return value
