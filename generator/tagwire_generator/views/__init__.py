"""Create views, which contain the strings that templates insert into files, and render the templates."""
