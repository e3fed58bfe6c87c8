"""Show as a tree, text or HTML which field each byte belongs to, and convert edited text back to bytes."""
