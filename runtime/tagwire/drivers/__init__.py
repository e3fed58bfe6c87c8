"""Connections on sockets: `tagwire.connect` blocks, and `tagwire.connect_async` is for asyncio.

They have no metadata cache, no group coordinator and no background threads. docs/howto-broker.md shows how to use them.
"""
