"""The `tagwire` command line, which requires the extra `cli`.

Commands that read specs also require the extra `generate`.
"""
