"""Find messages by name and API key; process frames, streams, captures and records; negotiate versions."""
