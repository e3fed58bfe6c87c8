"""Write `kafka_log`: the driver's part, the output of tasks, and the existing log that a write continues."""
