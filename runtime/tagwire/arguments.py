"""Check the types of arguments, so that an error names the argument, and says what it must be and what it is."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def check_type(argument: str, value: object, type: Any, expected: str) -> None:
    """Raise TypeError unless an argument has the right type, which `expected` describes, such as "a list of rows"."""
    if not isinstance(value, type):
        from tagwire.text_format import shown

        raise TypeError(f"{argument}: expected {expected}, got {shown(value)}")
