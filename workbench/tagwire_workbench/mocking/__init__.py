"""Scripts of mock peers in YAML: read, checked and played."""
