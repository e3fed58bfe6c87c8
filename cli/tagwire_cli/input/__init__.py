"""Read what is passed to commands: bytes, hex, JSON, streams of frames, or captures."""
