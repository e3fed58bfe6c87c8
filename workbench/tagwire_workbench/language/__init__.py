"""Editor features for specs: pure functions of a spec's source and a cursor position."""
