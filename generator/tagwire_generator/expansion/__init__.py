"""Create data classes and record formats in memory, without writing code, to expand layouts from them."""
