"""Decode and encode by layout: finds error positions, reads leniently, enforces limits; and run-time schemas."""
