"""The costs of designs, and conflicts between them."""
