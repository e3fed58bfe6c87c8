"""Show every byte with its field, as a tree, text or HTML; and turn edited text back into bytes."""
