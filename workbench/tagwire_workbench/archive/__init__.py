"""Build the archive: one set of specs with every message version of every Kafka release.

If several releases have a version, it is taken from the newest of them. The archive's `history.toml` contains a digest
of each version in each release, so that the merged specs can be verified without the jars.
"""
