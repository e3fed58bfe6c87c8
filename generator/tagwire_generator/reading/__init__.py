"""Convert a parsed spec to the spec model, and report all of its problems at once."""
