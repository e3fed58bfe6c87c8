from pathlib import Path

import pytest
from mock_scripts import METADATA, RULE, actions, answer, faults, play

import tagwire_messages as kafka
from tagwire.records import read_batches
from tagwire.testing.peer import Close, Send


def test_values_of_the_request(tmp_path: Path) -> None:
    text = """
        rules:
          - request: MetadataRequest
            reply:
              body:
                clusterId: {$request: header.client_id}
                brokers: [{host: {$peer: host}, port: {$peer: port}}]
                topics: [{name: {$request: "topics[1].name"}}]
                controllerId: {$request: header.correlation_id}
    """
    found = answer(play(tmp_path, text).connect(("h", 9)), METADATA, 9)
    assert (found.brokers[0].host, found.brokers[0].port) == ("h", 9)
    assert (found.cluster_id, found.controller_id, [topic.name for topic in found.topics]) == (None, 7, ["b"])


def test_values_that_are_kept(tmp_path: Path) -> None:
    text = """
        rules:
          - request: MetadataRequest
            keep: {names: "topics[].name", first: "topics[0].name", none: "topics[9].name"}
            reply: null
          - request: DescribeGroupsRequest
            reply: {body: {groups: [{groupId: {$kept: first}, errorMessage: {$kept: none}}]}}
          - request: ListGroupsRequest
            when: {states_filter: {$kept: names}}
            reply: {body: {errorCode: 1}}
    """
    peer = play(tmp_path, text)
    connection = peer.connect()
    assert actions(connection, METADATA, 9) == []
    found = answer(connection, kafka.DescribeGroupsRequest(), 6).groups[0]
    assert (found.group_id, found.error_message) == ("a", None)
    assert answer(connection, kafka.ListGroupsRequest(states_filter=["a", "b"]), 4).error_code == 1
    assert actions(connection, kafka.ListGroupsRequest(states_filter=["a"]), 4) == [Close()]


def test_batches_of_records(tmp_path: Path) -> None:
    text = """
        rules:
          - request: FetchRequest
            reply:
              body:
                responses:
                  - partitions:
                      - records:
                          $records:
                            - {key: k, value: v, headers: {h: {$hex: ff}}, timestamp: 5}
                            - {key: {$text: k}}
                          base_offset: 7
                          compression: gzip
    """
    found = answer(play(tmp_path, text).connect(), kafka.FetchRequest(), 12)
    (batch,) = read_batches(found.responses[0].partitions[0].records)
    first, second = batch
    expected = (7, 5, b"k", b"v", (("h", b"\xff"),))
    assert (first.offset, first.timestamp, first.key, first.value, first.headers) == expected
    assert (second.offset, second.key, second.value, batch.compression) == (8, b"k", None, "gzip")


def test_values_that_do_not_fit_are_problems(tmp_path: Path) -> None:
    text = "rules: [{request: MetadataRequest, reply: {body: {topics: [{name: {$request: topics}}]}}}]"
    peer = play(tmp_path, text)
    assert actions(peer.connect(), METADATA, 9) == [Close()]
    assert "topics[0].name" in str(peer.problems[0])


def test_position_within_a_list_and_after_elements_that_are_created_later(tmp_path: Path) -> None:
    text = """rules:
  - request: MetadataRequest
    keep: {first: "topics[0]"}
    reply:
      - body:
          topics:
            - {$kept: first}
            - name: b
              partitions:
                - {$kept: first}
                - {$request: "topics[0]"}
                - {partitionIndex: 1, isrNodes: [{$peer: port}, no]}
        fields:
          topics:
            - {$kept: first}
            - {name: {$peer: host}, errorCode: maybe}
          brokers: [{nodeId: 1}, {nodeId: 2, prt: 3, port: never}]
"""
    assert [(line.split(" ")[0], line.split("'")[1]) for line in faults(tmp_path, text)] == [
        (":12:65:", "no"),
        (":16:48:", "maybe"),
        (":17:46:", "prt"),
        (":17:60:", "never"),
    ]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("{body: {}, header: {unknown_tags: {5: eA==}}}", "0000000f  00000007 01 05 01 78  00000000 0000 00"),
        ("{body: {}, header: {unknown_tags: {5: {$text: x}}}}", "0000000f  00000007 01 05 01 78  00000000 0000 00"),
        ("{body: {}, header: {correlation_id: {$request: generation_id}}}", "0000000c  00000000 00  00000000 0000 00"),
        ("{body: {_unknownTags: {5: {$hex: '78'}}}}", "0000000f  00000007 00  00000000 0000 01 05 01 78"),
        ("{body: {_unknownTags: {5: {$kept: id}}}}", "0000000f  00000007 00  00000000 0000 01 05 01 78"),
    ],
)
def test_headers_and_tags_are_json_too(tmp_path: Path, reply: str, expected: str) -> None:
    peer = play(tmp_path, f"{RULE}{reply}\n    keep: {{id: member_id}}")
    request = kafka.HeartbeatRequest(member_id="eA==")
    assert actions(peer.connect(), request, 4) == [Send(bytes.fromhex(expected))]
    assert peer.problems == []


def test_fields_that_are_missing_in_a_field_are_defaults(tmp_path: Path) -> None:
    reply = "{body: {}, fields: {topics: [{name: {$request: 'topics[0].name'}}]}}"
    text = f"rules: [{{request: MetadataRequest, reply: {reply}}}]"
    (topic,) = answer(play(tmp_path, text).connect(), METADATA, 9).topics
    assert (topic.name, topic.error_code) == ("a", 0)


def test_paths_and_batches_are_read_with_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
        rules:
          - request: FetchRequest
            when: {max_bytes: {$request: max_bytes}}
            reply:
              {body: {responses: [{partitions: [{records: {$records: [{key: k}]}}]}]}, fields: {error_code: 3}}
    """
    connection = play(tmp_path, text).connect()
    for name in ("tagwire.records.build", "tagwire_workbench.mocking.values.RequestPath"):
        monkeypatch.setattr(name, None)
    assert answer(connection, kafka.FetchRequest(), 12).error_code == 3
