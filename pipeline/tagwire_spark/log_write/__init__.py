"""Write to the data source `kafka_log`: what tasks write, what the driver commits, and the log that a write extends."""
