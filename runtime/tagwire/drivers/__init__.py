"""Connections on sockets: `tagwire.connect` blocks, and `tagwire.connect_async` is for asyncio.

They are thin: no metadata cache, no group coordinator, no background threads. docs/howto-broker.md shows their use.
"""
