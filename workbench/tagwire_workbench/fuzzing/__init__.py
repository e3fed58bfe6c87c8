"""Fuzzing: seeds, dictionaries, a mutator that knows the message format, and a minimiser of failing inputs."""
