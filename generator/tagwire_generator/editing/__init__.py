"""Write specs: new projects, new versions and fields, canonical text that keeps comments."""
