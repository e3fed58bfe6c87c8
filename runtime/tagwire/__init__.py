"""tagwire: encode versioned messages to bytes, and decode them.

This package is the runtime of generated packages such as `tagwire_messages`:

    Versions, Limits                    version ranges; limits for decoding untrusted bytes
    Registry, Frame, FrameSplitter      whole requests, responses and records
    select, DROP                        read and rewrite single fields of encoded bytes
    negotiate                           choose the version to use with a peer
    connect, connect_async              connect to a broker or another peer (`connection` has the protocol without I/O)
    captures                            read captured traffic from files
    trace, annotate, assemble           show each byte with its field; turn annotated text back into bytes
    guess                               guess what unknown bytes may be
    Schema, Field                       define a schema at run time
    engine                              return the engine that encodes and decodes, native or Python
    TagwireError and its subclasses     every error that tagwire raises on purpose

Each name is loaded when it is first used, so that `import tagwire` is fast.
"""

from __future__ import annotations

from tagwire.lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tagwire import captures, connection, sasl
    from tagwire.asyncio_connection import connect_async
    from tagwire.blocking_connection import connect
    from tagwire.connection import PeerConnectionError
    from tagwire.errors import (
        DecodeError,
        EncodeError,
        LimitError,
        SchemaError,
        SpecError,
        TagwireError,
        UnsupportedVersionError,
        VersionsError,
    )
    from tagwire.explain.assemble import assemble
    from tagwire.explain.nodes import Node
    from tagwire.explain.text import annotate, parse_annotated
    from tagwire.explain.trace import Trace, trace, trace_request, trace_response
    from tagwire.frames.error_codes import AnswerError
    from tagwire.frames.frame_headers import Frame
    from tagwire.frames.message_index import UnknownMessageError
    from tagwire.frames.negotiation import NoCommonVersionError, negotiate
    from tagwire.frames.registry import Registry
    from tagwire.frames.splitter import FrameSplitter
    from tagwire.guessing import Candidate, Guess, guess
    from tagwire.interpreter.schema import Field, Schema
    from tagwire.layout.structs import Layout
    from tagwire.limits import Limits
    from tagwire.message import RUNTIME_LEVEL, Message, RuntimeLevelError, Struct, require_level
    from tagwire.message.engines import EngineError, engine
    from tagwire.message.losses import Loss
    from tagwire.selection.paths import SelectionError
    from tagwire.selection.selection import DROP, Selection, select
    from tagwire.versions import Versions

__version__ = "0.1.0"

__all__ = [
    "DROP",
    "RUNTIME_LEVEL",
    "AnswerError",
    "Candidate",
    "DecodeError",
    "EncodeError",
    "EngineError",
    "Field",
    "Frame",
    "FrameSplitter",
    "Guess",
    "Layout",
    "LimitError",
    "Limits",
    "Loss",
    "Message",
    "NoCommonVersionError",
    "Node",
    "PeerConnectionError",
    "Registry",
    "RuntimeLevelError",
    "Schema",
    "SchemaError",
    "Selection",
    "SelectionError",
    "SpecError",
    "Struct",
    "TagwireError",
    "Trace",
    "UnknownMessageError",
    "UnsupportedVersionError",
    "Versions",
    "VersionsError",
    "annotate",
    "assemble",
    "captures",
    "connect",
    "connect_async",
    "connection",
    "engine",
    "guess",
    "negotiate",
    "parse_annotated",
    "require_level",
    "sasl",
    "select",
    "trace",
    "trace_request",
    "trace_response",
]

_MODULES = {
    "tagwire.captures": ("captures",),
    "tagwire.connection": ("PeerConnectionError", "connection"),
    "tagwire.sasl": ("sasl",),
    "tagwire.asyncio_connection": ("connect_async",),
    "tagwire.blocking_connection": ("connect",),
    "tagwire.errors": (
        "DecodeError",
        "EncodeError",
        "LimitError",
        "SchemaError",
        "SpecError",
        "TagwireError",
        "UnsupportedVersionError",
        "VersionsError",
    ),
    "tagwire.explain.assemble": ("assemble",),
    "tagwire.explain.text": ("annotate", "parse_annotated"),
    "tagwire.explain.nodes": ("Node",),
    "tagwire.explain.trace": ("Trace", "trace", "trace_request", "trace_response"),
    "tagwire.frames.error_codes": ("AnswerError",),
    "tagwire.frames.frame_headers": ("Frame",),
    "tagwire.frames.negotiation": ("NoCommonVersionError", "negotiate"),
    "tagwire.frames.message_index": ("UnknownMessageError",),
    "tagwire.frames.registry": ("Registry",),
    "tagwire.frames.splitter": ("FrameSplitter",),
    "tagwire.guessing": ("Candidate", "Guess", "guess"),
    "tagwire.interpreter.schema": ("Field", "Schema"),
    "tagwire.layout.structs": ("Layout",),
    "tagwire.limits": ("Limits",),
    "tagwire.message.engines": ("EngineError", "engine"),
    "tagwire.message": ("RUNTIME_LEVEL", "Message", "RuntimeLevelError", "Struct", "require_level"),
    "tagwire.message.losses": ("Loss",),
    "tagwire.selection.paths": ("SelectionError",),
    "tagwire.selection.selection": ("DROP", "Selection", "select"),
    "tagwire.versions": ("Versions",),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
