"""Create views, which hold the strings that templates print, and render the templates."""
