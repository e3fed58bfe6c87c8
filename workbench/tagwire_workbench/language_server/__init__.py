"""`tagwire lsp`: the language server protocol around the functions of `tagwire_workbench.language`."""
