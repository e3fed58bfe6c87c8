"""Read, check and play mock peer scripts, which are YAML files."""
