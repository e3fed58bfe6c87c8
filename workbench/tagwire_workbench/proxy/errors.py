"""What is wrong with how a proxy is used, or with its file."""

from tagwire.errors import TagwireError


class ProxyError(TagwireError):
    """A proxy that can't do what it is asked for."""
