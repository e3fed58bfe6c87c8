"""Write to the data source `kafka_log`. Tasks stage segments, and the driver commits them to new or existing logs."""
