"""Spec syntax: parse text while keeping positions, validate it against a JSON Schema, and write canonical text."""
