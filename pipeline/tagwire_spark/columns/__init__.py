"""Messages in columns: their Arrow types for Spark, column functions, and whole DataFrames."""
