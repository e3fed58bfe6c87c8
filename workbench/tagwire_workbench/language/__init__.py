"""What an editor asks about a spec that is being typed: pure functions of a text and a place in it."""
