"""The base of hand-written messages, which have no generated serializers and don't need them."""

from tagwire.message import Message


class Sample(Message):
    """A message without generated serializers; both engines read it by its layout."""

    __slots__ = ()
