"""The data sources `kafka_log` and `kafka_rpc`, as Spark calls them."""
