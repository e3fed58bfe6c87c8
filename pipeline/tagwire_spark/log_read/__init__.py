"""Read `kafka_log`: the query, the bytes that each task reads, their rows, and growing logs as a stream."""
