"""`tagwire lsp`: connect `tagwire_workbench.language` to editors with the Language Server Protocol (LSP)."""
