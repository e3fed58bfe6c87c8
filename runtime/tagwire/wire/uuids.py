"""UUIDs as defaults, without importing `uuid` before one is needed.

That import takes longer than that of a package and a message together; most
programs read UUIDs from bytes, or never see one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final
    from uuid import UUID


class _DefaultUuid:
    """The type of `DEFAULT_UUID`, so that it has a name wherever it is shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "DEFAULT_UUID"


DEFAULT_UUID: Final[Any] = _DefaultUuid()
"""Stands for the default of a uuid field where a constructor is not given one."""


def uuid_or_default(value: UUID, default: int) -> UUID:
    """`value`, or the UUID of the number `default` where it is DEFAULT_UUID."""
    return default_uuid(default) if value is DEFAULT_UUID else value


def default_uuid(number: int) -> UUID:
    """The UUID of a number."""
    from uuid import UUID

    return UUID(int=number)
