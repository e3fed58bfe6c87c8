"""The data source classes of `kafka_log` and `kafka_rpc`, which Spark calls."""
