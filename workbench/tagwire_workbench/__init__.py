"""Tools for exploring, testing and designing protocols: browser, language server, proxy, fuzzing, what-if, lints."""
