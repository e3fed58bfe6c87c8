"""Read the records of a frame without a trace, because filters test every frame.

If these functions can't decide, the caller explains the frame.
"""

from typing import Any

from tagwire.errors import TagwireError
from tagwire.records.message_records import decode_records
from tagwire_cli.explaining.units import ExplainSettings


def are_fine(settings: ExplainSettings, message: Any, version: int) -> bool:
    """Whether all records of a message can be read."""
    try:
        for carried in decode_records(message, version, format=settings.records, limits=settings.limits):
            for batch in carried:
                for _ in batch:
                    pass
    except TagwireError:
        return False
    return True


def decompressed_records(settings: ExplainSettings, message: Any, version: int) -> list[bytes] | None:
    """Return the decompressed records of a message; None if only its trace can show them."""
    found = []
    try:
        for carried in decode_records(message, version, format=settings.records, limits=settings.limits):
            for batch in carried:
                if batch.codec == "none":
                    continue
                if batch.record_format.records is None:  # a wrapper message, whose content may be compressed again
                    return None
                found.append(bytes(batch.walk().data))
    except TagwireError:
        return None
    return found
