"""Reading `kafka_log`: what is asked, which bytes each task reads, their rows, and logs that grow as a stream."""
