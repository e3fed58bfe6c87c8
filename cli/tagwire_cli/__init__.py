"""The `tagwire` command line. It requires the extra `cli`; commands that read specs also require the extra `generate`.
"""
