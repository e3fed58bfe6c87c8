"""The parts of a project on disk: settings, options, spec files and their history, the cache, and output."""
