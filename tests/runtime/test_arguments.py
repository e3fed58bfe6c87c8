"""Arguments of the wrong type: the error names the argument, and says what it must be and what it is."""

import copy
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tagwire
import tagwire_messages
from tagwire import arrow, connection, log, records
from tagwire.frames.pairing import Pairing
from tagwire.message.engines import python_serializer
from tagwire.testing.peer import MockPeer

# Values of type Any, so that type checkers accept the wrong arguments below.
t: Any = tagwire
m: Any = tagwire_messages
a: Any = arrow
c: Any = connection
d: Any = log
r: Any = records
registry: Any = tagwire_messages.registry

HEARTBEAT = tagwire_messages.HeartbeatRequest(group_id="g")
C: Any = tagwire_messages.HeartbeatRequest
DATA = HEARTBEAT.encode(0)
FRAME = registry.encode_request(HEARTBEAT, 0, correlation_id=7)
ANSWER = registry.encode_response(m.HeartbeatResponse(), 0, correlation_id=7)
RECORD = records.Record(0, 1, b"k", b"v")
BATCH = records.build([RECORD], "v2")
GROUP: Any = tagwire.select(C, "group_id")
METADATA = m.MetadataResponse().encode(12)
HOSTS: Any = tagwire.select(m.MetadataResponse, "brokers[].host")
PYTHON: Any = python_serializer(C, 0)
COLUMN = pa.array([DATA])
HERE = Path(__file__).parent

USABLE: Any = connection.Connection(registry)
LOGIN: Any = tagwire.sasl.login("SCRAM-SHA-256", "alice", "secret")
LOGIN.step()
IDLE: Any = MockPeer()
REQUEST = connection.RequestInfo(HEARTBEAT, 0, 7, m.RequestHeader(correlation_id=7))
VERSIONS = {12: tagwire.Versions(0, 4)}
A_CLASS = "expected a message class, such as MetadataRequest, got "
A_REGISTRY = "registry: expected the registry of a generated package, got "
PEER = "peer[12]: expected a pair such as (0, 4), or a Versions, got "
CODEC = "compression: expected one of none, gzip, snappy, lz4, zstd, got "
LIMITS = "limits: expected a tagwire.Limits, got "
WRONG: list[tuple[str, Callable[[], Any]]] = [
    (f"{LIMITS}a dict", lambda: C.decode(DATA, 0, limits={})),
    (f"{LIMITS}None", lambda: C.decode(DATA, 0, limits=None, strict=False)),
    (f"{LIMITS}5", lambda: PYTHON.decode(DATA, limits=5)),
    ("there is no record format 'v9'", lambda: r.convert_records(m.FetchResponse(), "v9")),
    (f"{LIMITS}a dict", lambda: registry.decode_record(b"01", log="group", limits={})),
    (f"{LIMITS}a dict", lambda: t.trace(C, DATA, 0, limits={})),
    (f"{LIMITS}a dict", lambda: GROUP.rewrite(DATA, 0, str.upper, limits={})),
    (f"{LIMITS}a dict", lambda: a.decode_column(COLUMN, C, 0, limits={})),
    (f"{LIMITS}a dict", lambda: list(r.read_batches(BATCH.encode(), limits={}))),
    (f"{LIMITS}a dict", lambda: d.read(HERE, limits={})),
    (f"{LIMITS}the class Limits", lambda: c.Connection(registry, limits=t.Limits)),
    ("data: expected bytes, got str", lambda: C.decode("0007", 0)),
    ("data: expected bytes, got str", lambda: registry.decode_request("0007")),
    ("data: expected bytes, got str", lambda: t.FrameSplitter().feed("0007")),
    ("data: expected bytes, got int", lambda: USABLE.receive(5)),
    ("data: expected bytes, got NoneType", lambda: USABLE.receive(None)),
    ("data: expected bytes, got NoneType", lambda: LOGIN.step(None)),
    ("timeout: expected a number of seconds, got None", lambda: IDLE.wait_for(C, timeout=None)),
    ("count: expected a number of requests, got '1'", lambda: IDLE.wait_for(C, count="1")),
    (f"{A_CLASS}'Ping'", lambda: t.negotiate("Ping", {})),
    (f"{A_CLASS}'Ping'", lambda: t.select("Ping")),
    (f"{A_CLASS}'Ping'", lambda: t.trace("Ping", b"", 0)),
    (f"{A_CLASS}the class Message", lambda: t.select(t.Message, "x")),
    (f"{A_CLASS}a HeartbeatRequest", lambda: a.decode_column(COLUMN, HEARTBEAT, 0)),
    (f"{A_CLASS}a BinaryArray", lambda: a.encode_column(C, COLUMN, 0)),
    (f"{A_REGISTRY}<module 'tagwire_messages'", lambda: c.Connection(m)),
    (f"{A_REGISTRY}<module 'tagwire_messages'", lambda: MockPeer(m)),
    (f"{A_REGISTRY}<module 'tagwire_messages'", lambda: Pairing(m)),
    (f"{A_REGISTRY}b''", lambda: t.guess(b"", registry)),
    (f"{A_REGISTRY}b''", lambda: t.trace_request(b"", registry)),
    ("peer: expected an ApiVersionsResponse, or a dict from API keys to versions", lambda: t.negotiate(C, None)),
    (f"{PEER}9", lambda: t.negotiate(C, {12: 9})),
    (f"{PEER}'0-4'", lambda: t.negotiate(C, {12: "0-4"})),
    ("max_size: expected a number of bytes, got '1'", lambda: c.ServerConnection(registry, max_size="1")),
    ("max_size: expected a number of bytes, 0 or more, got -1", lambda: t.FrameSplitter(max_size=-1)),
    ("versions: expected a dict from API keys to versions, got 5", lambda: c.Connection(registry, versions=5)),
    ("versions[3]: expected a tagwire.Versions, got 5", lambda: c.Connection(registry, versions={3: 5})),
    ("retry: expected a number of seconds, got 'x'",
     lambda: next(c.Connection(registry, versions=VERSIONS).asking(HEARTBEAT, retry="x"))),
    ("requests: expected a list of requests, got a HeartbeatRequest",
     lambda: next(c.Connection(registry).asking_all(HEARTBEAT))),
    ("request: expected a request from `receive`, got a HeartbeatRequest",
     lambda: c.ServerConnection(registry).send(m.HeartbeatResponse(), HEARTBEAT)),
    ("header: expected a dict of header fields, got 5",
     lambda: c.ServerConnection(registry).send(m.HeartbeatResponse(), REQUEST, header=5)),
    ("HeartbeatResponse: expected a request, got", lambda: registry.decode_request(FRAME, m.HeartbeatResponse)),
    ("message: expected a message, got None", lambda: registry.encode_record(None, 0)),
    ("message: expected a message, got None", lambda: r.decode_records(None)),
    ("function: expected a function of the values in a row, got None", lambda: GROUP.rewrite(DATA, 0, None)),
    ("append: expected a list of rows, got 5", lambda: HOSTS.rewrite(METADATA, 12, str.upper, append=5)),
    ("append: expected a list of rows, got the string 'b'; write ['b']",
     lambda: HOSTS.rewrite(METADATA, 12, str.upper, append="b")),
    ("expected a path such as topics[].partitions[].leader_id, got 5", lambda: registry.select_request(12, 5)),
    ("fields: expected a list of paths, such as ['topics.name'], got [None]", lambda: a.schema(C, 0, fields=[None])),
    ("versions: expected a list of versions, got 0", lambda: a.decode_column(COLUMN, C, pa.array([0]), versions=0)),
    ("start_offset: expected an offset, got 'v2'", lambda: d.read(HERE, "v2")),
    ("start_offset: expected an offset, got 'v2'", lambda: d.columns(HERE, start_offset="v2")),
    ("skip: expected a function of a LogError, got True", lambda: d.read(HERE, skip=True)),
    ("`version` and `fields` describe the messages in the records", lambda: d.columns(HERE, fields=["key"])),
    ("records: expected a list of records, got a Record", lambda: r.build(RECORD)),
    ("batch: expected a batch from `read_batches` or `build`, got 70 bytes", lambda: r.convert(BATCH.encode(), "v1")),
    (f"v2: {CODEC}'gz'", lambda: r.convert(BATCH, "v2", compression="gz")),
    (f"v2: {CODEC}a list of 1", lambda: r.build([], compression=["gzip"])),
    ("record: expected a record of a control batch, got a RecordBatch", lambda: r.control_record(BATCH)),
    ("data: expected bytes (call Headers.of to pass keys and values), got", lambda: r.Headers([("k", b"v")])),
    ("expected a record format as a name, a RecordFormat or a Layout, got None", lambda: r.register(None)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "call"), WRONG)
def test_arguments_of_the_wrong_type(text: str, call: Callable[[], Any]) -> None:
    with pytest.raises((TypeError, tagwire.TagwireError), match=f"^{re.escape(text)}"):
        call()


def test_arguments_that_are_converted() -> None:
    assert tagwire.negotiate(C, VERSIONS) == 4
    assert registry.decode_request(FRAME, "HeartbeatRequest") == registry.decode_request(FRAME, 12)
    with pytest.raises(tagwire.DecodeError, match=f"found offset {10**30}, expected 0 to {len(DATA)}"):
        GROUP.read(DATA, 0, offset=10**30)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_registries_and_selections_of_frames_can_be_copied(copied: Any) -> None:
    registry.decode_request(FRAME)  # stores native plans
    assert copied(registry) is registry
    assert copied(registry.select_request(12, "header.client_id", "group_id")).read(FRAME) == [(None, "g")]
    assert copied(registry.select_response(12, "error_code")).read(ANSWER, 0) == [0]
    assert copied(RECORD.__replace__(value=None)).value is None
