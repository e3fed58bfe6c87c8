"""The commands of `tagwire`, one module each. `tagwire_cli.command_table` lists them."""
