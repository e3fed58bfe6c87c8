"""Read `kafka_log`: parse the query, plan what each task reads, make rows, and read growing logs as a stream."""
