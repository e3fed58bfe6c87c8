"""Guess which message unknown bytes may be."""
