"""The workbench commands of `tagwire`, one module each."""
