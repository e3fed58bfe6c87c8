"""The commands of `tagwire`, one module for each; `tagwire_cli.sections` lists them."""
