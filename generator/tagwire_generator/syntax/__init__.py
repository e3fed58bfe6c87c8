"""The syntax of specs: parse text with positions, validate it by JSON Schema, and write canonical text."""
