"""Parse command lines: options, packages and messages, log paths, and shell completion."""
