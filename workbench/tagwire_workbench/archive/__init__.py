"""Build the archive: one set of specs that contains every version of every Kafka release.

Each version's content comes from the newest release that has the version. The history contains a digest of each version
in each release, so that the merged specs can be verified without the jars.
"""
