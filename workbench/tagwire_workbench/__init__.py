"""Tools to explore, test and design protocols: browser, language server, proxy, fuzzing, what-if, lints."""
