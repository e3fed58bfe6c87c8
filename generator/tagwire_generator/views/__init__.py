"""Create views (the strings that templates print), and render the templates."""
