"""The commands of `tagwire`, one module each; `tagwire_cli.app` has the table."""
