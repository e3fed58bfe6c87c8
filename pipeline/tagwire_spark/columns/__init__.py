"""Kafka messages in Spark columns: Arrow types for Spark, column functions, and functions on whole DataFrames."""
