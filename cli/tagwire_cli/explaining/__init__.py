"""The code that `tagwire explain` and `tagwire assemble` share: detect the input, read frames, print the result."""
