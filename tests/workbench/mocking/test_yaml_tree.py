from pathlib import Path

from mock_scripts import BEAT, METADATA, answer, play

import tagwire_messages as kafka
from tagwire_messages.metadata_request import MetadataRequestTopic


def test_scalars_are_read_as_in_json(tmp_path: Path) -> None:
    """`no` and `2026-01-01` must stay strings, although YAML 1.1 would read them as false and as a date object."""
    text = "rules: [{request: MetadataRequest, when: {'topics[0].name': no}, reply: {body: {clusterId: 2026-01-01}}}]"
    peer = play(tmp_path, text)
    request = kafka.MetadataRequest(topics=[MetadataRequestTopic(name="no")])
    assert answer(peer.connect(), request, 9).cluster_id == "2026-01-01"


def test_anchors_are_for_repetition(tmp_path: Path) -> None:
    text = "rules:\n- {request: HeartbeatRequest, versions: 0, reply: &it {body: {errorCode: 3}}}\n"
    text += "- {request: HeartbeatRequest, versions: 4, reply: *it}"
    connection = play(tmp_path, text).connect()
    assert [answer(connection, BEAT, version).error_code for version in (0, 4)] == [3, 3]


def test_json_is_yaml_too(tmp_path: Path) -> None:
    text = '{"rules": [{"request": "HeartbeatRequest", "reply": {"body": {"errorCode": -1}}}]}'
    assert answer(play(tmp_path, text).connect(), BEAT, 0).error_code == -1
    # JSON writes a character beyond 16 bits as two escapes.
    text = r'{"rules": [{"request": "MetadataRequest", "reply": {"body": {"clusterId": "\ud83d\ude00"}}}]}'
    assert answer(play(tmp_path, text).connect(), METADATA, 9).cluster_id == "\U0001f600"
