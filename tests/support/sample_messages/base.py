"""The base of messages that are written by hand: they have no generated serializers, and need none."""

from tagwire.message import Message


class Sample(Message):
    """A message without generated serializers: by layout, in either engine."""

    __slots__ = ()
