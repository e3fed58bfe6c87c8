"""The command line. Needs the extra `cli`; what reads specs and writes modules, the extra `generate` too."""
