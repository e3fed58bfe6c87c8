"""Print the output of commands: tables, JSON, bytes, problems, findings and progress."""
