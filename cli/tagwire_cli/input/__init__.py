"""What commands read: bytes, hex and JSON, frames out of streams, captured traffic."""
