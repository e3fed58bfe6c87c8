"""Writing `kafka_log`: the driver's side, the output of tasks, and the existing log that a write continues."""
