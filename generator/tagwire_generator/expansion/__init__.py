"""Create data classes and record formats in memory, so that layouts can be computed without generating code."""
