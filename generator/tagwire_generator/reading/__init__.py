"""Convert a parsed spec to the spec model, and report all problems at once."""
