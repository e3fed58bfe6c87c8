"""Write `kafka_log`: what tasks write, what the driver commits, and the existing log that a write continues."""
