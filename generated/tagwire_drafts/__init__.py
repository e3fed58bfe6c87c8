"""The packages of proposals (KIPs), each in a subpackage. This file is written by hand, not by `tagwire generate`.

Without this file, `zipimport` could not import the subpackages from a wheel, for example one that Spark ships with
`--py-files`. A wheel has no entries for folders, so `zipimport` finds only folders that contain an `__init__.py`.
"""
