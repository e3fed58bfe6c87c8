"""The archive: the specs of many releases as one set in which no released version is missing.

    jars -> texts -> specs of a release -> modern form -> merged, newest first -> spec files and their history

A release decides for the versions that no newer one has. What a version looked
like in each release is kept as a digest (`tagwire_generator.project.history`), so that the merged specs
can be proven right without the jars.
"""
