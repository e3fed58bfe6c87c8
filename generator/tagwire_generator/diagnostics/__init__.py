"""Describe problems in specs: their positions, the rules and their IDs, and examples of each rule."""
