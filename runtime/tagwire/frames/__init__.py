"""Find messages by name and API key; encode and decode frames and records; split streams; negotiate versions."""
