"""Messages by name and key; whole frames, streams and captures of them, records, and versions spoken with a peer."""
