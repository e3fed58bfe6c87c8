"""Find costs of designs, and conflicts between designs."""
