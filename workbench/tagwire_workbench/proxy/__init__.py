"""A recording proxy, which passes bytes between clients and servers and reports the frames in them.

    RecordingProxy(server, on_frame)       make a proxy; the default messages are Kafka's
    async with proxy.serving() as address  run the proxy on sockets, in the running event loop
    proxy.connect()                        begin a connection without sockets: bytes in, bytes out
    CaptureFile(path).add                  write frames to a capture file; pass this method as `on_frame`

The proxy is meant for tests and captures; `tagwire record` uses it. docs/howto-recording.md describes it.
"""

from typing import TYPE_CHECKING

from tagwire.lazy import lazy_names

if TYPE_CHECKING:
    from tagwire_workbench.proxy.capture_file import CaptureFile, ProxyError, RecordedFrame
    from tagwire_workbench.proxy.recording_proxy import ProxyConnection, RecordingProxy

__all__ = ["CaptureFile", "ProxyConnection", "ProxyError", "RecordedFrame", "RecordingProxy"]

_MODULES = {
    "tagwire_workbench.proxy.capture_file": ("CaptureFile", "ProxyError", "RecordedFrame"),
    "tagwire_workbench.proxy.recording_proxy": ("ProxyConnection", "RecordingProxy"),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
