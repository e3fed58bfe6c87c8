"""The views, which hold the strings that templates print for each version, and their rendering."""
