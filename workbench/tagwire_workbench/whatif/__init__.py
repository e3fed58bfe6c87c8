"""The results of `tagwire whatif` as JSON, tables, and a page."""
