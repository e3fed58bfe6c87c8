"""What programs do around the codec, on the large MetadataResponse: each call beside one to compare it with.

The other is msgspec's on structs of the same content, made by keywords as
tagwire's are, or decoding and encoding of tagwire itself. A row names the call,
what stands beside it, and how many times as long the call takes. Both run in
each round (`timing`).
"""

import copy
import pickle
from collections.abc import Callable
from importlib import import_module
from statistics import median
from typing import Any, Final, NamedTuple

import contents
from timing import interleaved, ratio

import tagwire

__all__ = ["measure_objects"]

_VERSION: Final = 12
_NODES: Final = (1, 2, 3)


class _Kinds(NamedTuple):
    """The classes of a library."""

    message: Any
    topic: Any
    partition: Any
    broker: Any


class _Pair(NamedTuple):
    """A call, the name of what is beside it, and that."""

    call: Callable[[], object]
    beside: str
    other: Callable[[], object]


def measure_objects(*, rounds: int, seconds: float, progress: Callable[[str], None]) -> list[dict[str, Any]]:
    """The rows: call, microseconds, what is beside it, and the ratio."""
    rows = []
    for name, (call, beside, other) in _pairs().items():
        progress(f"objects: {name}")
        times = interleaved({"call": call, "beside": other}, rounds=rounds, seconds=seconds)
        rows.append(
            {
                "call": name,
                "microseconds": median(times["call"]) * 1e6,
                "beside": beside,
                "ratio": ratio(times["call"], times["beside"]),
            }
        )
    return rows


def _pairs() -> dict[str, _Pair]:
    """The rows by name."""
    msgspec = import_module("msgspec")
    ours, theirs = _tagwire_kinds(), _msgspec_kinds(msgspec)
    make, make_other = _maker(ours), _maker(theirs)
    return (
        _constructing(msgspec, ours, theirs, make, make_other)
        | _of_values(msgspec, make, make_other)
        | _of_bytes(make())
    )


def _constructing(
    msgspec: Any, ours: _Kinds, theirs: _Kinds, make: Callable[[], Any], make_other: Callable[[], Any]
) -> dict[str, _Pair]:
    write = msgspec.msgpack.encode
    return {
        "construct one partition": _Pair(_one(ours.partition), "msgspec.Struct, kw_only", _one(theirs.partition)),
        "construct and encode": _Pair(
            lambda: make().encode(_VERSION), "msgspec, msgpack.encode", lambda: write(make_other())
        ),
    }


def _of_values(msgspec: Any, make: Callable[[], Any], make_other: Callable[[], Any]) -> dict[str, _Pair]:
    """What objects are asked for, and their JSON."""
    message, equal, other, other_equal = make(), make(), make_other(), make_other()
    cls, kind, replace = type(message), type(other), msgspec.structs.replace
    kept, other_kept = pickle.dumps(message), pickle.dumps(other)
    obj, other_obj = message.to_json(_VERSION), msgspec.to_builtins(other)
    text, other_text = message.to_json_text(_VERSION), msgspec.json.encode(other)
    read = msgspec.json.Decoder(kind).decode
    assert message == equal and other == other_equal
    assert cls.from_json_text(text, _VERSION) == message and read(other_text) == other
    return {
        "==": _Pair(lambda: message == equal, "msgspec", lambda: other == other_equal),
        "repr": _Pair(lambda: repr(message), "msgspec", lambda: repr(other)),
        "copy.deepcopy": _Pair(lambda: copy.deepcopy(message), "msgspec", lambda: copy.deepcopy(other)),
        "replace one field": _Pair(
            lambda: message.replace(controller_id=4), "msgspec.structs.replace", lambda: replace(other, controller_id=4)
        ),
        "pickle.dumps": _Pair(lambda: pickle.dumps(message), "msgspec", lambda: pickle.dumps(other)),
        "pickle.loads": _Pair(lambda: pickle.loads(kept), "msgspec", lambda: pickle.loads(other_kept)),
        "to_json": _Pair(lambda: message.to_json(_VERSION), "msgspec.to_builtins", lambda: msgspec.to_builtins(other)),
        "from_json": _Pair(
            lambda: cls.from_json(obj, _VERSION), "msgspec.convert", lambda: msgspec.convert(other_obj, kind)
        ),
        "to_json_text": _Pair(
            lambda: message.to_json_text(_VERSION), "msgspec.json.encode", lambda: msgspec.json.encode(other)
        ),
        "from_json_text": _Pair(
            lambda: cls.from_json_text(text, _VERSION), "msgspec.json.Decoder", lambda: read(other_text)
        ),
    }


def _of_bytes(message: Any) -> dict[str, _Pair]:
    """What has nothing beside it but tagwire's own decoding and encoding."""
    cls, data = type(message), message.encode(_VERSION)
    cut = data[:-1]

    def refuse() -> None:
        try:
            cls.decode(cut, _VERSION)
        except tagwire.DecodeError:
            return
        raise AssertionError("bytes that lack the last one were decoded")

    def accept() -> object:
        return cls.decode(data, _VERSION)

    return {
        "refuse (the last byte cut off)": _Pair(refuse, "decode", accept),
        "trace": _Pair(lambda: tagwire.trace(cls, data, _VERSION), "decode", accept),
        "encoded_size": _Pair(lambda: message.encoded_size(_VERSION), "encode", lambda: message.encode(_VERSION)),
    }


# ---------------------------------------------------------------- the same content in both


def _one(partition: Any) -> Callable[[], object]:
    return lambda: partition(
        error_code=0,
        partition_index=7,
        leader_id=1,
        leader_epoch=5,
        replica_nodes=_NODES,
        isr_nodes=_NODES,
        offline_replicas=(),
    )


def _maker(kinds: _Kinds) -> Callable[[], Any]:
    """What makes the message of `contents.metadata`, field by field."""
    message, topic, partition, broker = kinds
    throttle_time_ms, brokers, cluster_id, controller_id, topics = contents.metadata()

    def made_partition(found: Any) -> Any:
        error_code, index, leader_id, leader_epoch, replicas, isr, offline = found
        return partition(
            error_code=error_code,
            partition_index=index,
            leader_id=leader_id,
            leader_epoch=leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=offline,
        )

    return lambda: message(
        throttle_time_ms=throttle_time_ms,
        brokers=[broker(node_id=id, host=host, port=port, rack=rack) for id, host, port, rack in brokers],
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=[
            topic(
                error_code=error_code,
                name=name,
                topic_id=topic_id,
                is_internal=is_internal,
                partitions=list(map(made_partition, partitions)),
            )
            for error_code, name, topic_id, is_internal, partitions in topics
        ],
    )


def _tagwire_kinds() -> _Kinds:
    module = import_module("tagwire_messages.metadata_response")
    return _Kinds(*(getattr(module, f"MetadataResponse{part}") for part in ("", "Topic", "Partition", "Broker")))


def _msgspec_kinds(msgspec: Any) -> _Kinds:
    """Structs of the fields that version 12 has, with tagwire's defaults."""
    uuid, numbers = import_module("uuid").UUID, list[int]

    def struct(name: str, /, **fields: tuple[Any, Any]) -> Any:
        return msgspec.defstruct(
            name, [(field, *rest) for field, rest in fields.items()], kw_only=True, module=__name__
        )

    number, text = (int, 0), (str, "")
    broker = struct("Broker", node_id=number, host=text, port=number, rack=(str | None, None))
    nodes = dict.fromkeys(("replica_nodes", "isr_nodes", "offline_replicas"), (numbers, ()))
    head = dict.fromkeys(("error_code", "partition_index", "leader_id", "leader_epoch"), number)
    partition = struct("Partition", **head, **nodes)
    topic = struct(
        "Topic",
        error_code=number,
        name=text,
        topic_id=(uuid, uuid(int=0)),
        is_internal=(bool, False),
        partitions=(list[partition], ()),
        topic_authorized_operations=(int, -(1 << 31)),
    )
    message = struct(
        "Metadata",
        throttle_time_ms=number,
        brokers=(list[broker], ()),
        cluster_id=(str | None, None),
        controller_id=number,
        topics=(list[topic], ()),
    )
    for cls in (broker, partition, topic, message):
        globals()[cls.__name__] = cls  # where pickle looks for them
    return _Kinds(message, topic, partition, broker)
