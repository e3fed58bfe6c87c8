"""Make registers as runtime classes, for the layouts of messages that use them as enums."""

from functools import lru_cache
from types import new_class
from typing import Any

from tagwire.message import Register
from tagwire_generator.model.register_spec import RegisterSpec


@lru_cache(maxsize=256)
def register_class(spec: RegisterSpec) -> type[Register]:
    """Return a class with the same members as the generated class. Equal registers share one class."""

    def fill(namespace: dict[str, Any]) -> None:
        for entry in sorted(spec.entries, key=lambda entry: entry.key):
            namespace[spec.constant(entry)] = entry.key, entry.name, entry.codec

    return new_class(spec.name, (Register,), {"closed": spec.closed}, fill)
