"""Print the output of commands: tables, JSON, bytes, problems, findings and progress; define the exit statuses."""
