"""Messages in columns: their Arrow types as Spark wants them, functions for columns, whole DataFrames."""
