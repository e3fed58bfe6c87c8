"""The archive: the specs of many releases as one set with every released version.

    jars -> spec sources -> specs of a release -> modern form -> merged, newest first -> spec files and their history

The newest release with a version decides its content. A digest of each version in each release is kept
(`tagwire_generator.project.history`), so that the merged specs can be verified without the jars.
"""
