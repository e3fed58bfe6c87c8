"""`tagwire lsp`: connect `tagwire_workbench.language` to editors by the Language Server Protocol."""
