"""A project on disk: its settings and options, its spec files and their history, the cache, and what is written."""
