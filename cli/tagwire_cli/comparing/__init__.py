"""Versions of a message compared with each other, for `tagwire diff` and `tagwire show`."""
