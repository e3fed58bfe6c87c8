"""Generate Python modules from JSON message specs.

`pipeline.generate` runs all steps. docs/architecture.md describes them.
"""
