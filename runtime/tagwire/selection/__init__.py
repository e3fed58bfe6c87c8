"""Read and rewrite single fields in encoded messages, without decoding the rest to objects."""
