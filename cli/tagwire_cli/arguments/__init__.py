"""Parsing of command lines: options, packages and their messages, paths of logs, and shell completion."""
