"""What writes specs: a new project, a version with optional fields, canonical text that keeps comments."""
