"""Reading and writing by layout: error places, leniency, limits, checksums; and schemas built at run time."""
