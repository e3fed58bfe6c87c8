"""Defaults of uuid fields. The module `uuid` is imported only when it is needed, because the import is slow."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final
    from uuid import UUID


class _DefaultUuid:
    """The type of `DEFAULT_UUID`, with a readable `repr`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "DEFAULT_UUID"


DEFAULT_UUID: Final[Any] = _DefaultUuid()
"""A placeholder: the default of constructor parameters for uuid fields. `uuid_or_default` replaces it with a UUID."""


def uuid_or_default(value: UUID, default: int) -> UUID:
    """Return `value` or, if it is DEFAULT_UUID, the UUID whose 128-bit integer is `default`."""
    return default_uuid(default) if value is DEFAULT_UUID else value


def default_uuid(number: int) -> UUID:
    """Return the UUID whose 128-bit integer is `number`."""
    from uuid import UUID

    return UUID(int=number)
