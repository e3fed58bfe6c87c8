"""Every byte with the field that it belongs to, as a tree, as text and HTML; and such text, edited, as bytes again."""
