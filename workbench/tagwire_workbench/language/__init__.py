"""Editor features for a spec that is being typed: pure functions of its source and a position."""
