"""Write `kafka_log`: the driver's part, the tasks' output, and the existing log that a write continues."""
