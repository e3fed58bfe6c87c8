"""Compare two captures."""
