"""The `tagwire` command line.

Commands that read specs also require the extra `generate`.
"""
