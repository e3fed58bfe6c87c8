"""A module for each command of `tagwire`; `tagwire_cli.app` has the table."""
