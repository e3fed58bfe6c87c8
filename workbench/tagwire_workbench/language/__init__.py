"""Editor features for a spec while its author types: pure functions of the source and a position."""
