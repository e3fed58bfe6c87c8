"""Messages in columns: their Arrow types for Spark, column functions, and functions on whole DataFrames."""
