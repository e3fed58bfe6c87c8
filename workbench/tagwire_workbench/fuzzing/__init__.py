"""Fuzzing: seeds and dictionaries, a mutator that knows the format, and a minimiser for failing inputs."""
