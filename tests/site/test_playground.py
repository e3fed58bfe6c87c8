import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_result

import tagwire_messages as messages
from tagwire.records import Record, build
from tagwire_site.playground import answer
from tagwire_site.python_files import CORE, archive_of

SITE = Path(__file__).parents[2] / "site"
HEARTBEAT = messages.registry.encode_request(messages.HeartbeatRequest(group_id="g"), 4, correlation_id=7)
BATCH = build([Record(0, 5, b"k", b"v"), Record(1, 6, b"k", None)], "v2").encode()
SPEC = """{ "apiKey": 7, "type": "request", "listeners": ["broker"], "name": "OrderRequest", "validVersions": "0-1",
  "flexibleVersions": "1+", "fields": [ { "name": "Id", "type": "int64", "versions": "0+" } ] }"""


def ask(call: str, **question: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer(json.dumps({"call": call, **question})))
    return found


MESSAGE = ["HeartbeatRequest", "4"]
QUESTIONS: dict[str, tuple[list[str], bytes, dict[str, Any]]] = {
    "guess": (["--guess"], HEARTBEAT, {}),
    "request": (["--request"], HEARTBEAT, {"kind": "request"}),
    "cut": (["--request"], HEARTBEAT[:-2], {"kind": "request"}),
    "message": (MESSAGE, messages.HeartbeatRequest(group_id="g").encode(4), {"kind": "message", "words": MESSAGE}),
    "batches": (["--format", "v2"], BATCH, {"kind": "format", "format": "v2"}),
    "nothing": (["--guess"], b"", {}),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_text_equals_the_command_line_output(name: str) -> None:
    words, data, question = QUESTIONS[name]
    printed = tagwire_result("explain", "--input", "hex", *words, stdin=data.hex()).stdout
    found = ask("explain", text=data.hex(), **question)
    if name != "nothing":  # for empty input, the command prints nothing
        assert found["text"] == printed.replace(" --input hex", "")
    assert found["hex"] == data.hex() and bool(found["failure"]) == (name in ("cut", "nothing"))


def row_of(found: dict[str, Any], name: str) -> int:
    rows: list[int] = found["editable"]
    return next(row for row in rows if found["tree"]["rows"]["name"][row] == name)


@pytest.mark.parametrize(
    ("field", "value"), [("group_id", "a longer group"), ("generation_id", -3), ("group_instance_id", "i")]
)
def test_an_edit_is_the_message_with_that_value(field: str, value: Any) -> None:
    found = ask("explain", text=HEARTBEAT.hex(), kind="request")
    edited = ask("edit", text=HEARTBEAT.hex(), kind="request", row=row_of(found, field), value=str(value))
    values: dict[str, Any] = {"group_id": "g", field: value}
    message = messages.HeartbeatRequest(**values)
    assert edited["hex"] == messages.registry.encode_request(message, 4, correlation_id=7).hex()


def test_an_edit_of_a_record_keeps_lengths_and_checksum() -> None:
    found = ask("explain", text=BATCH.hex(), kind="format")
    edited = ask("edit", text=BATCH.hex(), kind="format", row=row_of(found, "value"), value="76" * 300)
    expected = build([Record(0, 5, b"k", b"v" * 300), Record(1, 6, b"k", None)], "v2").encode()
    assert edited["hex"] == expected.hex()


def test_a_spec_has_classes_layouts_and_a_verdict() -> None:
    found = ask("spec", text=SPEC.replace("int64", "int32"), released=SPEC)
    assert "class OrderRequest(Message, metaclass=data_class)" in found["classes"] and found["problems"] == ""
    assert [each["version"] for each in found["layouts"]] == ["0", "1"]
    assert found["layouts"][1]["text"] == "id: int32\n(tagged fields)\n"
    assert "the type was int64 and is now int32" in found["breaking"]
    assert "TW103" in ask("spec", text="{")["problems"]


def test_a_spec_reads_bytes() -> None:
    found = ask("own", text=SPEC, data="00 00 00 00 00 00 00 07", version="0")
    assert found["tree"]["rows"]["value"] == ["", "7"] and found["failure"] == ""
    assert "found 2 bytes left" in ask("own", text=SPEC, data="00 00", version="0")["failure"]


def test_an_unclear_guess_has_candidates() -> None:
    found = ask("explain", text="00000000000000000000000100")
    assert found["read"] == "Read as hex: 13 bytes"
    assert found["candidates"][0]["kind"] == "response" and len(found["candidates"]) > 1


@pytest.mark.parametrize(
    "question",
    [
        {"call": "explain", "text": "zz", "kind": "message", "words": ["NoSuchMessage", "0"]},
        {"call": "explain", "text": "00", "kind": "message", "words": ["", ""]},
        {"call": "explain", "text": "00", "kind": "response", "words": ["Metadata", "99"]},
        {"call": "edit", "text": HEARTBEAT.hex(), "row": 7, "value": "\ud800"},
        {"call": "edit", "text": HEARTBEAT.hex(), "row": 1, "value": "70000"},
        {"call": "edit", "text": HEARTBEAT.hex(), "row": 999, "value": ""},
        {"call": "spec", "text": "[]"},
        {"call": "nonsense"},
    ],
)
def test_no_request_raises(question: dict[str, Any]) -> None:
    found = json.loads(answer(json.dumps(question)))
    assert found.get("error") or found.get("failure") or found.get("problems")


def test_files_go_into_the_archive_that_needs_them() -> None:
    assert archive_of("tagwire/explain/tree.js") == archive_of("google_crc32c.pyc") == "core.zip"
    assert archive_of("tagwire_generator/pipeline.pyc") == archive_of("black/__init__.pyc") == "generate.zip"
    assert archive_of("tagwire/py.typed") == archive_of("x-1.dist-info/RECORD") == ""


def test_explaining_needs_only_the_modules_of_the_first_archive() -> None:
    questions = [{"call": "explain", "text": data.hex(), **more} for _, data, more in QUESTIONS.values()]
    program = """
import json, sys
before = set(sys.modules)
from tagwire_site.playground import answer
for question in json.loads(sys.stdin.read()):
    answer(json.dumps(question))
print(*{name.partition(".")[0] for name in set(sys.modules) - before})
"""
    environment = {**os.environ, "TAGWIRE_ENGINE": "python"}  # browsers have no native engine
    command = [sys.executable, "-c", program]
    asked = json.dumps(questions)
    result = subprocess.run(
        command, cwd=SITE, env=environment, input=asked, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert set(result.stdout.split()) - sys.stdlib_module_names <= {*CORE, "google_crc32c", "cramjam"}
