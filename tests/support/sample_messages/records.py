"""A coordinator record (key and value), and a record of the metadata log."""

from __future__ import annotations

from sample_messages.base import Sample
from tagwire.message import data_class, field
from tagwire.versions import Versions


class SeatKey(Sample, metaclass=data_class):
    seat: str = field("seat", "string", "0", default="")

    NAME = "SeatKey"
    KIND = "coordinator-key"
    API_KEY = 2
    COMPONENT = "group"
    VERSIONS = Versions(0, 0)
    LATEST_STABLE = 0


class SeatValue(Sample, metaclass=data_class):
    taken: bool = field("taken", "bool", "0+", default=False)

    NAME = "SeatValue"
    KIND = "coordinator-value"
    API_KEY = 2
    COMPONENT = "group"
    VERSIONS = Versions(0, 1)
    FLEXIBLE_VERSIONS = Versions.parse("1+")
    LATEST_STABLE = 1


class ChairRecord(Sample, metaclass=data_class):
    height: int = field("Height", "int32", "0+", default=0)

    NAME = "ChairRecord"
    KIND = "metadata"
    API_KEY = 4
    COMPONENT = "cluster"
    VERSIONS = Versions(0, 1)
    FLEXIBLE_VERSIONS = Versions.parse("0+")
    LATEST_STABLE = 1
