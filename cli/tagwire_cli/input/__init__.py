"""Read the input of commands: bytes, hex, JSON, streams of frames, and captures."""
