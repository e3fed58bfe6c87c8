"""The parts of `tagwire explain` and `tagwire assemble`: input detection, frames, and output."""
