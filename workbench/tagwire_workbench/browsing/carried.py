"""The records of a frame read without a trace, for filters: they ask all frames, and a trace is for a person.

Where this can't tell, it says so, and the frame is explained.
"""

from typing import Any

from tagwire.errors import TagwireError
from tagwire.records.carried import decode_records
from tagwire_cli.explaining.units import Asked


def are_fine(asked: Asked, message: Any, version: int) -> bool:
    """Whether all records of a message can be read."""
    try:
        for carried in decode_records(message, version, format=asked.records, limits=asked.limits):
            for batch in carried:
                for _ in batch:
                    pass
    except TagwireError:
        return False
    return True


def unpacked_records(asked: Asked, message: Any, version: int) -> list[bytes] | None:
    """What is packed in the records of a message; None where only its trace tells."""
    found = []
    try:
        for carried in decode_records(message, version, format=asked.records, limits=asked.limits):
            for batch in carried:
                if batch.codec == "none":
                    continue
                if batch.described_by.records is None:  # a wrapper of messages, which may be packed again
                    return None
                found.append(bytes(batch.walk().data))
    except TagwireError:
        return None
    return found
