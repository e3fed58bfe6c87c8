"""Decode and encode by layout: error positions, leniency, limits, checksums; and schemas built at run time."""
