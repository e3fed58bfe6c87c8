"""Count the modules that an import loads. (bench/ measures the time.)

Each step runs in its own process, without the startup files of the environment.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from native_engine import in_use

import tagwire
import tagwire_messages

FOLDERS = [str(Path(str(package.__file__)).parents[1]) for package in (tagwire, tagwire_messages)]
CHILD = """
import os, sys
sys.path[:0] = sys.argv[1].split(os.pathsep)
names = {}
exec(sys.argv[2], names)
before = set(sys.modules)
exec(sys.argv[3], names)
print(*sorted(set(sys.modules) - before))
"""

SLOW = {
    *("argparse", "ast", "asyncio", "dataclasses", "decimal", "email", "importlib.metadata", "importlib.resources"),
    *("inspect", "json", "logging", "pathlib", "string", "subprocess", "threading", "tokenize", "traceback"),
    *("typing", "unittest"),
}
"""Standard library modules that take a millisecond or more."""
INTERPRETER = {
    *("tagwire.explain.nodes", "tagwire.explain.text", "tagwire.explain.trace", "tagwire.interpreter.reader"),
    *("tagwire.interpreter.schema", "tagwire.interpreter.writer", "tagwire.message.json", "tagwire.message.losses"),
}
"""Modules that are needed only for errors, traces, JSON and run-time schemas."""
PACKAGE = "import tagwire, tagwire_messages"


def loaded(before: str, step: str, engine: str = "") -> set[str]:
    """Run `before` and then `step` in a new process. Return the modules that `step` loads."""
    command = [sys.executable, "-I", "-S", "-c", CHILD, os.pathsep.join(FOLDERS), before, step]
    environment = dict(os.environ) | ({"TAGWIRE_ENGINE": engine} if engine else {})
    return set(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split())


def messages_in(modules: set[str]) -> set[str]:
    return {name for name in modules if name.startswith("tagwire_messages.")}


def test_the_package_alone() -> None:
    modules = loaded("", PACKAGE)
    assert "tagwire_messages" in modules
    assert not modules & (SLOW | INTERPRETER)
    assert not modules & {"base64", "struct", "uuid", "tagwire.layout", "tagwire.wire.scalars"}
    assert messages_in(modules) == set()
    assert len(modules) < 40


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("tagwire_messages.registry.names()", set()),
        ("'FetchRequest' in tagwire_messages.registry", set()),
        ("dir(tagwire_messages)", set()),
        ("tagwire_messages.ApiKey", {"api_key"}),
        ("tagwire_messages.HeartbeatRequest", {"heartbeat_request"}),
        ("tagwire_messages.registry['HeartbeatRequest']", {"heartbeat_request"}),
        ("tagwire_messages.registry.request(3)", {"metadata_request"}),
        ("tagwire_messages.registry.response(3)", {"metadata_response"}),
        ("from tagwire_messages.fetch_request import FetchRequest", {"fetch_request"}),
    ],
)
def test_only_requested_modules_are_loaded(step: str, expected: set[str]) -> None:
    modules = loaded(PACKAGE, step)
    assert messages_in(modules) == {f"tagwire_messages.{name}" for name in expected}
    assert not modules & SLOW
    assert not modules & INTERPRETER


CLASS = f"{PACKAGE}; cls = tagwire_messages.HeartbeatResponse"
MESSAGE = f"{CLASS}; message = cls(throttle_time_ms=3)"
THERE_AND_BACK = "assert type(message).decode(message.encode(4), 4) == message"


def test_an_engine_comes_with_the_first_object() -> None:
    modules = loaded("", CLASS)
    assert "tagwire_messages.serializers" not in modules
    assert "tagwire._engine" not in modules


@in_use
def test_the_native_engine_needs_no_serializers() -> None:
    modules = loaded(CLASS, f"message = cls(throttle_time_ms=3); {THERE_AND_BACK}")
    assert "tagwire._engine" in modules
    assert messages_in(modules) == set()
    assert not modules & (SLOW | {"struct", "tagwire.message.serializer", "tagwire.wire.scalars", "uuid"})
    assert not modules & INTERPRETER


@in_use
def test_json_text_needs_no_interpreter() -> None:
    json_text = "text = message.to_json_text(4); assert cls.from_json_text(text, 4) == message"
    modules = loaded(MESSAGE, json_text)
    assert "tagwire.message.json_text" in modules
    assert not modules & (INTERPRETER | {"json", "struct"})


def test_the_pure_engine_needs_the_serializers_of_the_message() -> None:
    modules = loaded(MESSAGE, THERE_AND_BACK, "python")
    assert "tagwire._engine" not in modules
    expected = {"tagwire_messages.serializers", "tagwire_messages.serializers.heartbeat_response"}
    assert messages_in(modules) == expected
    assert not modules & (SLOW - {"typing"})
    assert not modules & INTERPRETER


def test_interpreter_is_imported_with_the_first_error() -> None:
    decode = "\ntry: tagwire_messages.HeartbeatResponse.decode(b'x', 4)\nexcept tagwire.DecodeError: pass"
    modules = loaded(PACKAGE, decode)
    assert "tagwire.interpreter.reader" in modules
    assert not modules & (SLOW - {"typing"})


@in_use
def test_scans_of_logs_need_no_interpreter() -> None:
    modules = loaded(
        "", "import tagwire.log.verify; list(tagwire.log.verify.pieces(tagwire.log.verify.Scan('f', b'')))"
    )
    assert "tagwire._engine" in modules
    assert not modules & (INTERPRETER | {"tagwire.captures", "tagwire.log.column_stream", "tagwire.records.building"})


@in_use
def test_crc32c_needs_no_library() -> None:
    library = "import sys, types; sys.modules['google_crc32c'] = types.SimpleNamespace(__spec__='not null')"
    assert "tagwire._engine" in loaded(library, "from tagwire.wire import checksums; checksums.checksum('crc32c', b'')")


def test_detects_a_slow_import() -> None:
    assert loaded("", "import json") & SLOW
