"""Import optional libraries on first use. If one is missing, the error names the extra that installs it."""

from importlib import import_module
from typing import Any

from tagwire.errors import TagwireError


class MissingExtraError(TagwireError, ImportError):
    """Raised if an optional library is not installed. The error message contains the command that installs it."""


def missing_extra(library: str, extra: str) -> MissingExtraError:
    """Return the error for an optional library that is not installed."""
    text = f"{library} is not installed; install it with: pip install 'tagwire[{extra}]'"
    return MissingExtraError(text, name=library)


def required(module: str, extra: str) -> Any:
    """Import and return a module. Raises MissingExtraError if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise missing_extra(module.partition(".")[0], extra) from error
