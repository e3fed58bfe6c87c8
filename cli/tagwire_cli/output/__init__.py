"""Print the output of commands: tables, JSON and bytes, problems and findings, progress; and define exit statuses."""
