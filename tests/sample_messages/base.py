"""What stands in for generated serializers: every read and write takes the walk by layout."""

from typing import Any

from tagwire.errors import UnsupportedVersionError
from tagwire.message import Message
from tagwire.serializer import Serializer
from tagwire.wire import Malformed, Refused


class Sample(Message):
    """A message without generated serializers."""

    __slots__ = ()

    @classmethod
    def serializer(cls, version: int) -> Any:
        if version not in cls.VERSIONS:
            raise UnsupportedVersionError(cls.NAME, version, cls.VERSIONS)
        found = cls._serializers.get(version)
        if found is None:
            members = {"MESSAGE": cls, "VERSION": version}
            found = cls._serializers[version] = type(f"{cls.NAME}V{version}", (SlowSerializer,), members)
        return found


class SlowSerializer(Serializer[Any]):
    """Refuses everything, so that the base class asks the layout interpreter."""

    @staticmethod
    def read(buf: bytes, raw: Any, pos: int) -> tuple[Any, int]:
        raise Malformed

    @staticmethod
    def write(m: Any, out: bytearray) -> None:
        raise Refused
