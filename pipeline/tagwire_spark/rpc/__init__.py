"""Read captured frames from files, and pair requests with their responses."""
