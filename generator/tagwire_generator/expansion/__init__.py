"""Create data classes and record formats in memory. Layouts can then be computed without generating code."""
