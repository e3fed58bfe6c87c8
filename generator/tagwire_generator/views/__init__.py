"""Create views, which hold the strings that templates print, and render templates with these views."""
