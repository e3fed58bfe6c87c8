"""Tools for exploring, testing and designing protocols: browser, language server, recording proxy, fuzzing, lints."""
