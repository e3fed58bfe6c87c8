"""Decode and encode by layout, for error positions, lenient reading, limits, and schemas defined at run time."""
