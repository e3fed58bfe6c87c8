"""Helpers for tests of mock scripts: run a script, send requests to its mock peer, and return what the peer answers."""

from pathlib import Path
from typing import Any

import pytest

import tagwire_messages as kafka
from tagwire import Message
from tagwire.testing.peer import Action, MockPeer, PeerConnection, Send
from tagwire_messages.metadata_request import MetadataRequestTopic
from tagwire_workbench.mocking.script import read_script
from tagwire_workbench.mocking.yaml_tree import ScriptError

BEAT = kafka.HeartbeatRequest(group_id="g", member_id="m")
METADATA = kafka.MetadataRequest(topics=[MetadataRequestTopic(name="a"), MetadataRequestTopic(name="b")])
RULE = "rules:\n  - request: HeartbeatRequest\n    reply: "


def play(folder: Path, text: str | bytes) -> MockPeer:
    path = folder / "script.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_script(path).peer(kafka.registry)


def faults(folder: Path, text: str | bytes) -> list[str]:
    """Check that a script is rejected. Return the lines of the error, without the name of the file."""
    with pytest.raises(ScriptError) as caught:
        play(folder, text)
    return [line.removeprefix(f"{folder}/script.yaml") for line in str(caught.value).split("\n")]


def actions(connection: PeerConnection, message: Message, version: int) -> list[Action]:
    frame = kafka.registry.encode_request(message, version, correlation_id=7)
    return connection.receive_data(len(frame).to_bytes(4, "big") + frame)


def answer(connection: PeerConnection, message: Message, version: int) -> Any:
    (sent,) = actions(connection, message, version)
    assert isinstance(sent, Send) and message.API_KEY is not None
    return kafka.registry.decode_response(sent.data[4:], message.API_KEY, version).message
