"""Errors of a proxy or its file."""

from tagwire.errors import TagwireError


class ProxyError(TagwireError):
    """A proxy that can't be used as requested."""
