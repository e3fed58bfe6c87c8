"""Comparison of captures."""
