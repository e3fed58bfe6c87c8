"""The parts of `tagwire explain`: detect the input, read its frames, explain them, and print the result."""
