"""Create projects, add versions and fields to specs, and format specs without losing comments."""
