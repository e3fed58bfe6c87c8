"""Guess what unknown bytes may be, and which of two readings is more likely."""
