"""The syntax of specs: parse text with positions, check its shape by JSON Schema, and write canonical text."""
