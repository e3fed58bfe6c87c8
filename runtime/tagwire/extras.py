"""Libraries that only some of tagwire needs: imported when they are, and named by their extra when they are missing."""

from importlib import import_module
from typing import Any

from tagwire.errors import TagwireError

__all__ = ["MissingExtraError", "required"]


class MissingExtraError(TagwireError, ImportError):
    """Something needs a library that is not installed; the message has the command that brings it."""


def required(module: str, extra: str) -> Any:
    """The module. Raises MissingExtraError if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        text = f"this needs {module}, which is not installed; pip install 'tagwire[{extra}]' brings it"
        raise MissingExtraError(text, name=module) from error
