"""Convert names in specs to Python names.

The names in specs consist of ASCII letters and digits, which other rules check. So the results are valid identifiers
and safe file names.
"""

import keyword
import re
from typing import Final

from tagwire.message import Message

_WORD_STARTS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_WRITTEN: Final = frozenset({"bool", "bytes", "float", "int", "property", "self", "str", "tuple"})
"""Names used in the source code of data classes. A parameter or attribute with such a name would hide the original."""

_TAKEN: Final = frozenset(name for name in dir(Message) if not name.startswith("__")) | _WRITTEN | {"unknown_tags"}
"""Attributes that every data class already has."""


def snake_case(name: str) -> str:
    """Return a spec name in snake_case.

    >>> [snake_case(name) for name in ("TopicId", "ISR", "IsrNodes", "V3AndBelowTopics", "groupId", "ISRReplicas")]
    ['topic_id', 'isr', 'isr_nodes', 'v3_and_below_topics', 'group_id', 'isr_replicas']
    """
    return _WORD_STARTS.sub("_", name).lower()


def attribute_name(name: str) -> str:
    """Return a field's attribute name: snake_case, with an underscore after names that Python or the class uses.

    >>> [attribute_name(name) for name in ("Class", "Encode", "Bytes", "ErrorCode", "UnknownTags")]
    ['class_', 'encode_', 'bytes_', 'error_code', 'unknown_tags_']
    """
    snake = snake_case(name)
    return f"{snake}_" if keyword.iskeyword(snake) or snake in _TAKEN else snake
