"""The `tagwire` command line. Requires the extra `cli`; commands that read specs also require `generate`."""
