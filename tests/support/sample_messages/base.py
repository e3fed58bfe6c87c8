"""The base class of hand-written messages, which have no generated serializers."""

from tagwire.message import Message


class Sample(Message):
    """A message without generated serializers. Both engines use its layout."""

    __slots__ = ()
