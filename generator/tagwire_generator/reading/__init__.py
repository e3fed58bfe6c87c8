"""From the tree to the spec model, with all problems at once."""
