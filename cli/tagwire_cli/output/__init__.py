"""Print the output of commands: tables, JSON, bytes, problems, findings, progress; also defines exit statuses."""
