"""Frames for tests of mock peers without sockets.

A frame consists of its size, a header and a body. The header is a correlation ID and, in flexible versions, a zero byte
for "no tagged fields".
"""

from collections.abc import Iterable
from typing import Any

import tagwire_messages as kafka
from tagwire import Message
from tagwire.testing.peer import Action, PeerConnection, Send

BEAT = kafka.HeartbeatRequest(group_id="g", member_id="m")
OK = kafka.HeartbeatResponse()


def framed(message: Message, version: int, correlation_id: int = 7) -> bytes:
    frame = kafka.registry.encode_request(message, version, correlation_id=correlation_id)
    return len(frame).to_bytes(4, "big") + frame


def sent(actions: Iterable[Action]) -> bytes:
    return b"".join(action.data for action in actions if isinstance(action, Send))


def answer(connection: PeerConnection, message: Message, version: int) -> Any:
    data = sent(connection.receive_data(framed(message, version)))
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    assert message.API_KEY is not None
    return kafka.registry.decode_response(data[4:], message.API_KEY, version).message
