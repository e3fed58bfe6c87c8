"""Captured frames out of files, and requests paired with their responses."""
