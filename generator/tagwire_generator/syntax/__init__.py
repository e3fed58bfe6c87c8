"""Parse the text of specs with positions, validate it against a JSON Schema, and write specs as canonical text."""
