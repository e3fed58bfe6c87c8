"""Input detection, frames and output, shared by `tagwire explain` and `tagwire assemble`."""
