"""tagwire: versioned messages to bytes and back.

The runtime of generated packages such as `tagwire_messages`, and what works
with any of them:

    Versions, Limits                    version ranges; bounds for untrusted bytes
    Registry, Frame, FrameSplitter      whole requests, responses and records
    negotiate                           the version to speak with a peer
    trace, annotate                     every byte with its field, up to the fault
    Schema, Field                       a schema built at run time
    engine                              which engine serializes
    TagwireError and its tree           all that is raised on purpose

Names are loaded when they are first used: importing tagwire costs next to
nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tagwire.annotations import annotate, parse_annotated
    from tagwire.engines import EngineError, engine
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
    from tagwire.frame import Frame
    from tagwire.frames import FrameSplitter
    from tagwire.layout import Layout
    from tagwire.level import RUNTIME_LEVEL, RuntimeLevelError, require_level
    from tagwire.limits import Limits
    from tagwire.losses import Loss
    from tagwire.message import Message, Struct
    from tagwire.negotiation import NoCommonVersionError, negotiate
    from tagwire.registry import Registry, UnknownMessageError
    from tagwire.schema import Field, Schema
    from tagwire.tracer import Node, Trace, trace, trace_request, trace_response
    from tagwire.versions import Versions

__version__ = "0.1.0"

__all__ = [
    "RUNTIME_LEVEL",
    "DecodeError",
    "EncodeError",
    "EngineError",
    "Field",
    "Frame",
    "FrameSplitter",
    "Layout",
    "LimitError",
    "Limits",
    "Loss",
    "Message",
    "NoCommonVersionError",
    "Node",
    "Registry",
    "RuntimeLevelError",
    "Schema",
    "SchemaError",
    "SpecError",
    "Struct",
    "TagwireError",
    "Trace",
    "UnknownMessageError",
    "UnsupportedVersionError",
    "Versions",
    "VersionsError",
    "annotate",
    "engine",
    "negotiate",
    "parse_annotated",
    "require_level",
    "trace",
    "trace_request",
    "trace_response",
]

_MODULES = {
    "annotations": ("annotate", "parse_annotated"),
    "engines": ("EngineError", "engine"),
    "errors": (
        "DecodeError",
        "EncodeError",
        "LimitError",
        "SchemaError",
        "SpecError",
        "TagwireError",
        "UnsupportedVersionError",
        "VersionsError",
    ),
    "frame": ("Frame",),
    "frames": ("FrameSplitter",),
    "layout": ("Layout",),
    "level": ("RUNTIME_LEVEL", "RuntimeLevelError", "require_level"),
    "limits": ("Limits",),
    "losses": ("Loss",),
    "message": ("Message", "Struct"),
    "negotiation": ("NoCommonVersionError", "negotiate"),
    "registry": ("Registry", "UnknownMessageError"),
    "schema": ("Field", "Schema"),
    "tracer": ("Node", "Trace", "trace", "trace_request", "trace_response"),
    "versions": ("Versions",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'tagwire' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"tagwire.{module}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
