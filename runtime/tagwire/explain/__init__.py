"""Show which field each byte belongs to, as a tree, text or HTML, and turn edited text back into bytes."""
