"""Write to the data source `kafka_log`. Tasks write segments to a staging folder, and the driver commits them."""
