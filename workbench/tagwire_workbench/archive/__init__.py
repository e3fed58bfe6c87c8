"""Build the archive: one set of specs that contains every version of every Kafka release.

    jars -> spec sources -> specs of a release -> form of Kafka 4.1 -> merged, newest first -> spec files and history

Each version's content comes from the newest release that has the version. The history contains a digest of each version
in each release (`tagwire_generator.project.history`), so that the merged specs can be verified without the jars.
"""
