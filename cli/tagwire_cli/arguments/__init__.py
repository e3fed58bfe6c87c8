"""What stands on a command line: options, packages and their messages, paths of logs, and what shells offer."""
