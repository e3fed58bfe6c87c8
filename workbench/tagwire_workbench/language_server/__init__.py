"""`tagwire lsp`: the language server protocol for `tagwire_workbench.language`."""
