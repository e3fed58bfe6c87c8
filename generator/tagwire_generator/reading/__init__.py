"""Convert a parsed spec to the spec model, and report all errors and warnings in it at once."""
