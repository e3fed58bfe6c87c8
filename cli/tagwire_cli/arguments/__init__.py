"""Parse and complete command lines: options, and the names of packages, messages and log paths."""
