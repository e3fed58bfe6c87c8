"""Scripts of mock peers in YAML: reading, checking and playing."""
