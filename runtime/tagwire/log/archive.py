"""The messages of the archive, of which some small files of a log are made.

Asked for by name when one of them is read: the runtime stands below generated
packages.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry

__all__ = ["archive"]


def archive() -> "Registry":
    """The registry of `tagwire_messages`."""
    registry: Registry = import_module("tagwire_messages").registry
    return registry
