"""What is wrong with the script of a mock peer, or with how the peer is used."""

from tagwire.errors import TagwireError


class PeerError(TagwireError):
    """A script that can't be played, or a peer that is asked for what it can't do."""
