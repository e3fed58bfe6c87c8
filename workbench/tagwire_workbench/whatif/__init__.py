"""Show the results of `tagwire whatif` as JSON, as tables, or as an HTML page."""
