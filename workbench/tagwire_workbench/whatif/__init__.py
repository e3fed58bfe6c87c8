"""What `tagwire whatif` has found, as JSON, tables, and a page."""
