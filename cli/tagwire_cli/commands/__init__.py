"""The commands of `tagwire`, most of them in a module of their own. `tagwire_cli.command_table` lists them."""
