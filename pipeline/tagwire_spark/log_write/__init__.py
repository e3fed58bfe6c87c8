"""Writing `kafka_log`: the driver's side, what a task writes, and the log that a write goes on behind."""
