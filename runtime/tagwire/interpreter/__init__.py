"""Decode and encode by following a layout. Used for error positions, lenient reading, limits, and run-time schemas."""
