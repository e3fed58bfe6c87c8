"""The command line. Needs the extra `cli`; commands that read specs also need the extra `generate`."""
