"""Generate Python modules from JSON message specs. `pipeline.generate` runs all steps."""
