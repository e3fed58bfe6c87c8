"""The commands of `tagwire log`: a module for each."""
