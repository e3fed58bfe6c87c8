"""Versions of a message held beside each other: what `tagwire diff` and `tagwire show` are made of."""
