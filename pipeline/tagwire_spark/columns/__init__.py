"""Messages as columns: Arrow types for Spark, column functions, and functions on whole DataFrames."""
