"""The level of the runtime: what generated code may count on.

Generated code counts on the names of two doors, `tagwire.message` and
`tagwire.wire`. The level grows by one where a door gets a name that older
runtimes lack. Each generated package says which level it needs, so that an old
runtime fails at the import, in clear words, and not somewhere inside.
"""

from __future__ import annotations

from tagwire.errors import TagwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

__all__ = ["RUNTIME_LEVEL", "RuntimeLevelError", "require_level"]

RUNTIME_LEVEL: Final = 1


class RuntimeLevelError(TagwireError, ImportError):
    """A generated package that needs a newer runtime."""


def require_level(level: int, package: str) -> None:
    """Raise RuntimeLevelError if this runtime is too old for `package`."""
    if level > RUNTIME_LEVEL:
        raise RuntimeLevelError(
            f"{package} was generated for runtime level {level}, but the installed tagwire has level {RUNTIME_LEVEL}; "
            f"upgrade tagwire, or generate {package} with this version of it"
        )
