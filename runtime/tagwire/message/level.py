"""The runtime level: a version number for the set of names that generated code relies on.

These names are in `__all__` of `tagwire.message` and `tagwire.wire`. Whenever they change, the level is raised by one.
A generated package contains the level of the runtime for which it was generated. If the installed runtime has an
incompatible level, importing the package raises an error.
"""

from __future__ import annotations

from tagwire.errors import TagwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

__all__ = ["RUNTIME_LEVEL", "RuntimeLevelError", "require_level"]

RUNTIME_LEVEL: Final = 2
OLDEST_LEVEL: Final = 2
"""The lowest runtime level for which a package may be generated. Older packages use names that were removed."""


class RuntimeLevelError(TagwireError, ImportError):
    """Raised when a generated package needs another version of the runtime."""


def require_level(level: int, package: str) -> None:
    """Raise RuntimeLevelError if the level of this runtime is too low or too high for `package`."""
    if OLDEST_LEVEL <= level <= RUNTIME_LEVEL:
        return
    remedy = f"generate {package} with the installed version"
    if level > RUNTIME_LEVEL:
        remedy = f"upgrade tagwire, or {remedy}"
    found = f"{package} was generated for runtime level {level}, but the installed tagwire has level {RUNTIME_LEVEL}"
    raise RuntimeLevelError(f"{found}; {remedy}")
