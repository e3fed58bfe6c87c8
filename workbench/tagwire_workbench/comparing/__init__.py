"""Captures compared with each other."""
