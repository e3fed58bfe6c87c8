"""The commands of `tagwire spark`, a module for each."""
