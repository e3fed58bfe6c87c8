"""Compare versions of a message, for `tagwire diff` and `tagwire show`."""
