"""Read the input of commands: bytes, hex and JSON, frames from streams, captured traffic."""
