"""Parse command lines: options, packages, messages, log paths, and shell completion."""
