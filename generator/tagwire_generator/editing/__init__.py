"""Write specs: new projects, new versions and fields, and canonical text that keeps comments."""
