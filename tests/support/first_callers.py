"""Call a function for the first time in several threads at once, for hostile/test_first_callers.py.

Usage: first_callers.py CALL THREADS. The exit code is 0 if all threads get the same result, and 3 if not.
"""

import copy
import pickle
import sys
import threading
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

HEARTBEAT = bytes.fromhex("0267 00000007 0268 00 00")
"""The bytes of a HeartbeatRequest v4: group "g", generation 7, member "h", no instance, no tagged fields."""

NAMES = ("MetadataRequest", "FetchResponse", "OffsetFetchRequest", "HeartbeatRequest", "ApiVersionsResponse")
"""The messages to use. The first use of MetadataRequest imports a module for its UUID field while threads run."""


def call_of(name: str) -> Callable[[], object]:
    """Import what the function needs, and then return the function that every thread calls."""
    return CALLS[name]()


def of_messages(call: Callable[[Any], object]) -> Callable[[], Callable[[], object]]:
    def prepared() -> Callable[[], object]:
        package = import_module("tagwire_messages")
        objects = [getattr(package, name)() for name in NAMES]
        return lambda: [call(each) for each in objects]

    return prepared


def bytes_of(message: Any) -> bytes:
    """Encode a message with the interpreter, because the threads must be the first to use the native engine."""
    from tagwire.interpreter.writer import encode
    from tagwire.message.field_table import layout_of

    return encode(layout_of(type(message), message.LATEST_STABLE), message)


def of_bytes(call: Callable[[Any, bytes], object]) -> Callable[[], Callable[[], object]]:
    def prepared() -> Callable[[], object]:
        package = import_module("tagwire_messages")
        pairs = [(getattr(package, name), bytes_of(getattr(package, name)())) for name in NAMES]
        for cls, _ in pairs:
            cls._layouts.clear()
        return lambda: [call(cls, data) for cls, data in pairs]

    return prepared


def of_package(module: str, call: Callable[[Any], object]) -> Callable[[], Callable[[], object]]:
    return lambda: lambda: call(import_module(module))


def subclassed(message: Any) -> bytes:
    """Encode and decode with a new subclass, while other threads use the base class."""
    instance = type("Below", (type(message),), {"__slots__": (), "encoded_size": lambda self, version: -version})()
    assert instance.encoded_size(message.LATEST_STABLE) == -message.LATEST_STABLE
    data: bytes = instance.encode(message.LATEST_STABLE)
    assert type(instance).decode(data, message.LATEST_STABLE) == instance
    return data


def built(records: Any) -> object:
    data = records.BatchBuilder("v2").append(b"k", b"hello", timestamp=7).build().encode()
    return data, [list(batch) for batch in records.read_batches(data)]


def columns_of(arrow: Any) -> object:
    import pyarrow as pa

    from tagwire_messages import HeartbeatRequest

    decoded = pa.array(arrow.decode_column(pa.array([HEARTBEAT]), HeartbeatRequest, 4))
    return decoded.to_pylist(), pa.array(arrow.encode_column(decoded, HeartbeatRequest, 4)).to_pylist()


def annotated(tagwire: Any, cls: Any, data: bytes) -> object:
    text = tagwire.annotate(tagwire.trace(cls, data, cls.LATEST_STABLE))
    return text, tagwire.parse_annotated(text)


CALLS: dict[str, Callable[[], Callable[[], object]]] = {
    "encode": of_messages(lambda m: m.encode(m.LATEST_STABLE)),
    "encoded_size": of_messages(lambda m: m.encoded_size(m.LATEST_STABLE)),
    "encode-every-version": of_messages(lambda m: [m.encode(version) for version in m.VERSIONS]),
    "decode": of_bytes(lambda cls, data: cls.decode(data, cls.LATEST_STABLE)),
    "decode_from": of_bytes(lambda cls, data: cls.decode_from(data, cls.LATEST_STABLE)),
    "decode-views": of_bytes(lambda cls, data: cls.decode(bytearray(data), cls.LATEST_STABLE, views=True)),
    "decode-lenient": of_bytes(lambda cls, data: cls.decode(data, cls.LATEST_STABLE, strict=False)),
    "decode-rejected": of_bytes(lambda cls, data: rejection(lambda: cls.decode(data[:-1], cls.LATEST_STABLE))),
    "to_json": of_messages(lambda m: m.to_json(m.LATEST_STABLE)),
    "from_json": of_messages(lambda m: type(m).from_json(m.to_json(m.LATEST_STABLE), m.LATEST_STABLE)),
    "losses": of_messages(lambda m: m.losses(0)),
    "supported_versions": of_messages(lambda m: m.supported_versions()),
    "header_version": of_messages(lambda m: type(m).header_version(m.LATEST_STABLE)),
    "serializer": of_messages(lambda m: id(type(m).serializer(m.LATEST_STABLE))),
    "layout": of_messages(
        lambda m: id(import_module("tagwire.message.field_table").layout_of(type(m), m.LATEST_STABLE))
    ),
    "equal": of_messages(lambda m: m == type(m)()),
    "repr": of_messages(repr),
    "copies": of_messages(lambda m: (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m)), m.replace())),
    "subclass": of_messages(subclassed),
    "trace": of_bytes(lambda cls, data: str(import_module("tagwire").trace(cls, data, cls.LATEST_STABLE))),
    "annotate": of_bytes(lambda cls, data: annotated(import_module("tagwire"), cls, data)),
    "package": of_package(
        "tagwire_messages", lambda m: [m.FetchRequest(), m.ApiKey(1), m.MetadataResponse().encode(12)]
    ),
    "registry": of_package("tagwire_messages", lambda m: [m.registry[name].NAME for name in m.registry.names()[:40]]),
    "encode_request": of_package(
        "tagwire_messages", lambda m: m.registry.encode_request(m.HeartbeatRequest(), 4, correlation_id=1)
    ),
    "decode_request": of_package(
        "tagwire_messages", lambda m: m.registry.decode_request(bytes.fromhex("000c0004 00000001 ffff 00") + HEARTBEAT)
    ),
    "decode_response": of_package(
        "tagwire_messages", lambda m: m.registry.decode_response(bytes.fromhex("00000001 00 00000000 0000 00"), 12, 4)
    ),
    "guess": of_package("tagwire", lambda t: str(t.guess(import_module("tagwire_messages").registry, HEARTBEAT))),
    "records": of_package("tagwire.records", built),
    "format_of": of_package("tagwire.records", lambda r: [id(r.format_of(name)) for name in r.format_names()]),
    "arrow": of_package("tagwire.arrow", columns_of),
}


def rejection(call: Callable[[], object]) -> str:
    from tagwire import TagwireError

    try:
        call()
    except TagwireError as error:
        return str(error)
    raise AssertionError("expected a TagwireError")


def results(call: Callable[[], object], threads: int) -> Iterable[str]:
    barrier, found = threading.Barrier(threads), []

    def work() -> None:
        barrier.wait()
        try:
            found.append(repr(call()))
        except BaseException as error:
            found.append(f"{type(error).__name__}: {error}")

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


if __name__ == "__main__":

    found = [*results(call_of(sys.argv[1]), int(sys.argv[2]))]
    print(*sorted(set(found)), sep="\n")
    sys.exit(0 if len(found) == int(sys.argv[2]) and len(set(found)) == 1 and "Error: " not in found[0][:40] else 3)
