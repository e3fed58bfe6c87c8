"""Errors in the script of a mock peer, or in how the peer is used."""

from tagwire.errors import TagwireError


class PeerError(TagwireError):
    """A script that can't be played, or a peer that is used for something it can't do."""
