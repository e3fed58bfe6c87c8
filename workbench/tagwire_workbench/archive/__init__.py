"""Build the archive: one set of specs that contains every version of every Kafka release.

    jars -> spec sources -> specs of a release -> modern form -> merged, newest first -> spec files and their history

Each version's content comes from the newest release that has the version. A digest of each version in each release is
kept (`tagwire_generator.project.history`), so that the merged specs can be verified without the jars.
"""
