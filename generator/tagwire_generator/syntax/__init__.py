"""The text of specs: to a tree that knows lines and columns, its shape by JSON Schema, and back to canonical text."""
