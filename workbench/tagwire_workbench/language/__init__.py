"""Editor features for a spec while it is being typed: pure functions of its source and a position."""
