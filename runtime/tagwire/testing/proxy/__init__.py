"""A recording proxy: it passes bytes between clients and servers, and gives the frames in them to whom it may concern.

    RecordingProxy(server, on_frame)       the proxy; Kafka's messages where no registry is given
    async with proxy.serving() as address  on sockets, in the event loop that runs
    proxy.connect()                        without a socket: bytes in, bytes out
    CaptureFile(path).add                  an `on_frame` that writes a capture file

It is for tests and captures, as `tagwire record` uses it. docs/howto-recording.md describes it.
"""

from typing import TYPE_CHECKING

from tagwire.lazy import lazy_names

if TYPE_CHECKING:
    from tagwire.testing.proxy.capture_file import CaptureFile
    from tagwire.testing.proxy.connection import ProxyConnection
    from tagwire.testing.proxy.errors import ProxyError
    from tagwire.testing.proxy.recorded import RecordedFrame
    from tagwire.testing.proxy.recording_proxy import RecordingProxy

__all__ = ["CaptureFile", "ProxyConnection", "ProxyError", "RecordedFrame", "RecordingProxy"]

_MODULES = {
    "tagwire.testing.proxy.capture_file": ("CaptureFile",),
    "tagwire.testing.proxy.connection": ("ProxyConnection",),
    "tagwire.testing.proxy.errors": ("ProxyError",),
    "tagwire.testing.proxy.recorded": ("RecordedFrame",),
    "tagwire.testing.proxy.recording_proxy": ("RecordingProxy",),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
