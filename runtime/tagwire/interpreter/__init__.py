"""Decode and encode by following a layout: for error positions, lenient reading, limits, and run-time schemas."""
