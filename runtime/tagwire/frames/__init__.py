"""Messages by name and API key; frames, streams, captures and records; version negotiation."""
