"""The names that specs may have: those that are safe as identifiers, as file names and in any text.

They are checked when a spec is read, so that later steps need not care.
"""

import keyword
import re
from typing import Final

MAX_NAME: Final = 100
"""Characters. A module's file name may be twice as long, and must stay under what file systems allow."""

NAME_RULE: Final = f"use an ASCII letter, then ASCII letters and digits, at most {MAX_NAME}"
STRUCT_NAME_RULE: Final = (
    f"use an upper-case ASCII letter, then ASCII letters and digits, at most {MAX_NAME}; not False, None or True"
)

_NAME: Final = re.compile("[A-Za-z][A-Za-z0-9]*")
_FORMAT_NAME: Final = re.compile("[a-z][a-z0-9+-]*")


def is_name(text: str) -> bool:
    """Whether a message or a field may have this name."""
    return len(text) <= MAX_NAME and _NAME.fullmatch(text) is not None


def is_struct_name(text: str) -> bool:
    """Whether a struct may have this name: it becomes a class as it is."""
    return is_name(text) and text[0].isupper() and not keyword.iskeyword(text)


def is_format_name(text: str) -> bool:
    """Whether programs may call a record format so: it is data for them, and never code."""
    return len(text) <= MAX_NAME and _FORMAT_NAME.fullmatch(text) is not None
