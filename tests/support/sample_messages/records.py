"""A coordinator's key and value, and a record of a metadata log."""

from collections.abc import Mapping

from sample_messages.base import Sample
from tagwire.message.field_table import FieldRow
from tagwire.versions import Versions
from tagwire.wire.unknown_tags import NO_TAGS


class SeatKey(Sample):
    __slots__ = ("seat", "unknown_tags")

    NAME = "SeatKey"
    KIND = "coordinator-key"
    API_KEY = 2
    COMPONENT = "group"
    VERSIONS = Versions(0, 0)
    LATEST_STABLE = 0
    FIELDS = (FieldRow("seat", "seat", "string", "0", default=""),)

    def __init__(self, *, seat: str = "", unknown_tags: Mapping[int, bytes] = NO_TAGS) -> None:
        self.seat = seat
        self.unknown_tags = unknown_tags


class SeatValue(Sample):
    __slots__ = ("taken", "unknown_tags")

    NAME = "SeatValue"
    KIND = "coordinator-value"
    API_KEY = 2
    COMPONENT = "group"
    VERSIONS = Versions(0, 1)
    FLEXIBLE_VERSIONS = Versions.parse("1+")
    LATEST_STABLE = 1
    FIELDS = (FieldRow("taken", "taken", "bool", "0+", default=False),)

    def __init__(self, *, taken: bool = False, unknown_tags: Mapping[int, bytes] = NO_TAGS) -> None:
        self.taken = taken
        self.unknown_tags = unknown_tags


class ChairRecord(Sample):
    __slots__ = ("height", "unknown_tags")

    NAME = "ChairRecord"
    KIND = "metadata"
    API_KEY = 4
    COMPONENT = "cluster"
    VERSIONS = Versions(0, 1)
    FLEXIBLE_VERSIONS = Versions.parse("0+")
    LATEST_STABLE = 1
    FIELDS = (FieldRow("height", "Height", "int32", "0+", default=0),)

    def __init__(self, *, height: int = 0, unknown_tags: Mapping[int, bytes] = NO_TAGS) -> None:
        self.height = height
        self.unknown_tags = unknown_tags
