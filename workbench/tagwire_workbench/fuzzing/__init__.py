"""Tools for fuzzing: seeds, dictionaries, a mutator that knows message formats, and a minimiser of failing inputs."""
