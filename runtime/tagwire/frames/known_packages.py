"""The generated packages that the runtime loads by name, on first use.

Generated packages import the runtime, so the runtime must not import them; import-linter contracts enforce this. The
contracts can't detect imports by name, so only this module may contain names of generated packages.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message.record_format import RecordFormat
    from tagwire.message.register import KeyRange, Register


KAFKA_MESSAGES: Final = "tagwire_messages"
"""The package of all Kafka messages, which is the default package."""
_RECORDS: Final = "tagwire_records"
_DRAFTS: Final = "tagwire_drafts"
PUBLIC_PACKAGES: Final = (KAFKA_MESSAGES, _RECORDS)
"""The packages that shell completion offers."""

RECORD_FORMATS: Final = {
    "v0": (_RECORDS, "MessageV0"),
    "v1": (_RECORDS, "MessageV1"),
    "v2": (_RECORDS, "RecordBatchV2"),
    "kip82-int": (f"{_DRAFTS}.kip82_int", "MessageKip82Int"),
    "kip82-int-signed": (f"{_DRAFTS}.kip82_int_signed", "MessageKip82Int"),
    "kip82-str": (f"{_DRAFTS}.kip82_str", "RecordBatchKip82Str"),
    "kip87": (f"{_DRAFTS}.kip87", "MessageKip87"),
    "kip82-int+kip87": (f"{_DRAFTS}.kip82_int_kip87", "MessageKip82IntKip87"),
    "v3": (f"{_DRAFTS}.smaller_batches", "RecordBatchV3"),
    "v3-zigzag": (f"{_DRAFTS}.smaller_batches", "RecordBatchV3Zigzag"),
}
"""A dict from names of record formats to (package, class name)."""

HEADER_KEYS: Final = ("kip82-int.headers.key", "kip82-int+kip87.headers.key")
"""Paths of the fields that contain a header key of KIP-82's first draft."""


def kafka_messages() -> Registry:
    """Return the registry of Kafka's messages. Raises ImportError if they are not installed."""
    return registry_of(KAFKA_MESSAGES)


def registry_of(package: str) -> Registry:
    """Return the registry of a generated package. Raises ImportError if the package is not installed."""
    registry: Registry = import_module(package).registry
    return registry


def record_format(name: str) -> type[RecordFormat]:
    """Return the class of a record format in `RECORD_FORMATS`. Raises ImportError if its package is not installed."""
    package, cls = RECORD_FORMATS[name]
    found: type[RecordFormat] = getattr(import_module(package), cls)
    return found


@cache
def header_keys() -> type[Register] | None:
    """Return the enum of header keys from KIP-82's first draft, or None if the drafts package is not installed."""
    try:
        found: type[Register] = import_module(f"{_DRAFTS}.kip82_int.kafka_header_keys").KafkaHeaderKeys
    except ImportError:
        return None
    return found


@lru_cache(1024)
def header_key_name(key: str | int) -> str:
    """Return the name of an int32 header key in KIP-82's first draft; for any other key, the key as a string."""
    register = header_keys()
    name = None if register is None or isinstance(key, str) else register.name_of(key % 2**32)
    return name or str(key)


def reserved_keys() -> tuple[KeyRange, ...]:
    """Return the reserved header keys of KIP-82's first draft, as ranges, or () if the drafts package is missing."""
    try:
        ranges: tuple[KeyRange, ...] = import_module(f"{_DRAFTS}.kip82_int.kafka_header_keys").RANGES
    except ImportError:
        return ()
    return ranges
