"""The commands of `tagwire`, one module each. `tagwire_cli.sections` lists them."""
