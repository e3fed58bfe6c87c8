"""From JSON message specs to Python modules: parse, check, expand, view, render.

`pipeline.generate` is the whole way; docs/architecture.md has the map.
"""
