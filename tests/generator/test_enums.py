import copy
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from build_package import build_package
from coded_ways import check_bytes, check_drawn, decoded
from command import tagwire_output
from task_specs import KIND, STATE, TASK

import tagwire
from tagwire import arrow
from tagwire.explain.text import annotate
from tagwire.explain.trace import trace
from tagwire.message.engines import native_obstacle
from tagwire.message.json import _Reader, _Writer
from tagwire_generator.editing.spec_edit import format_spec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.register import registers_among
from tagwire_generator.reading.spec import read_spec

OPTIONS = SpecOptions()
GOLDEN = {
    # Version 0 has id 7 (4 bytes), state 1 (1 byte), and kind 6 (2 bytes).
    0: "00000007 01 0006",
    # Version 1 adds two arrays with int32 counts: the past states -1 and 9, and the kind 60000 (0xEA60).
    1: "00000007 01 0006  00000002 ff 09  00000001 ea60",
    # Version 2 has compact counts (n + 1), then one tagged field: tag 0, 8 bytes, the int64 value 2.
    2: "00000007 01 0006  03 ff 09  02 ea60  01 00 08 0000000000000002",
}


def golden(version: int) -> bytes:
    return bytes.fromhex(GOLDEN[version])


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return build_package(tmp_path_factory.mktemp("enums"), "enum_messages", [STATE, KIND, TASK])


def task(tasks: Any, version: int) -> Any:
    state, kind = tasks.TaskState, tasks.TaskKind
    result = tasks.Task(id=7, state=state.RUNNING, kind=kind.STREAM)
    if version:
        result = result.replace(past=(state.LOST_TRACK, 9), kinds=(kind.PROBE,))
    return result.replace(next=state.DONE) if version == 2 else result


@pytest.mark.parametrize("version", range(3))
def test_the_bytes_in_both_engines(tasks: Any, version: int) -> None:
    message, data = task(tasks, version), golden(version)
    assert native_obstacle(tasks.Task, version) == ""
    check_bytes(message, version, data)
    for found in decoded(tasks.Task, data, version):
        assert found.state is tasks.TaskState.RUNNING and found.kind is tasks.TaskKind.STREAM
        assert found.next is (tasks.TaskState.DONE if version == 2 else tasks.TaskState.RUNNING)
        assert [type(each) for each in found.past] == ([tasks.TaskState, int] if version else [])


def test_defaults_are_members(tasks: Any) -> None:
    fresh = tasks.Task()
    assert (fresh.state, fresh.kind, fresh.next) == (0, 5, 1)
    assert fresh.state is tasks.TaskState.NEW and fresh.kind is tasks.TaskKind.BATCH
    assert fresh.next is tasks.TaskState.RUNNING
    assert fresh.encode(2) == bytes.fromhex("00000000 00 0005 01 01 00"), "the tagged field is its default"
    assert tasks.Task(next=1).encode(2) == fresh.encode(2), "also as a number"
    assert tasks.Task(state=1) == tasks.Task(state=tasks.TaskState.RUNNING)
    assert "TaskState.RUNNING" in repr(tasks.Task(state=tasks.TaskState.RUNNING))


def test_an_unknown_number_stays_an_int(tasks: Any) -> None:
    data = bytes.fromhex("00000007 63 0006")
    found = tasks.Task.decode(data, 0)
    assert type(found.state) is int and found.state == 99 and found.encode(0) == data


UNKNOWN_KIND = bytes.fromhex("00000007 01 0007")
UNKNOWN_KINDS = bytes.fromhex("00000007 01 0006 00000000 00000002 0005 0007")


def test_closed_register_rejects_other_numbers(tasks: Any) -> None:
    members = "expected TaskKind: BATCH (5), STREAM (6), PROBE (60000)"
    with pytest.raises(tagwire.DecodeError) as rejected:
        tasks.Task.decode(UNKNOWN_KIND, 0)
    assert (rejected.value.path, rejected.value.offset) == ("kind", 5)
    assert "found 7" in str(rejected.value) and members in str(rejected.value)
    with pytest.raises(tagwire.DecodeError) as rejected:
        tasks.Task.decode(UNKNOWN_KINDS, 1)
    assert (rejected.value.path, rejected.value.offset) == ("kinds[1]", 17)
    with pytest.raises(tagwire.EncodeError, match=r"kind: expected TaskKind: BATCH \(5\), STREAM \(6\)"):
        tasks.Task(kind=7).encode(0)
    with pytest.raises(tagwire.EncodeError, match=r"kinds\[0\]: expected TaskKind: .*, got int 0"):
        tasks.Task(kinds=(0,)).encoded_size(1)
    with pytest.raises(tagwire.EncodeError, match=r"state: expected int8 \(-128 to 127\), got str 'NEW'"):
        tasks.Task(state="NEW").encode(0)


@pytest.mark.parametrize(
    ("count", "end"), [(12, r"N11 \(11\), got int 99"), (13, r"N11 \(11\) and 1 more, got int 99")]
)
def test_an_error_lists_at_most_12_members(tmp_path: Path, own_modules: None, count: int, end: str) -> None:
    kind = KIND | {"entries": [{"key": n, "name": f"N{n}"} for n in range(count)]}
    fields = [{"name": "Kind", "type": "uint16", "enum": "TaskKind", "versions": "0+"}]
    package = build_package(tmp_path, "many_members", [kind, TASK | {"fields": fields}])
    with pytest.raises(tagwire.EncodeError, match=rf"kind: expected TaskKind: N0 \(0\), .*{end}"):
        package.Task(kind=99).encode(0)


def test_lenient_reader_keeps_numbers_missing_from_a_closed_register(tasks: Any) -> None:
    found = tasks.Task.decode(UNKNOWN_KIND, 0, strict=False)
    assert found.kind == 7 and type(found.kind) is int


@pytest.mark.parametrize("style", ["lossless", "kafka"])
@pytest.mark.parametrize("version", range(3))
def test_json_has_names(tasks: Any, version: int, style: str) -> None:
    cls, message = tasks.Task, task(tasks, version)
    expected: dict[str, Any] = {"id": 7, "state": "RUNNING", "kind": "STREAM"}
    if version:
        expected |= {"past": ["lost.track", 9], "kinds": ["PROBE"]}
    if version == 2:
        expected["next"] = "DONE"
    assert message.to_json(version, style=style) == expected
    assert json.loads(message.to_json_text(version, style=style)) == expected
    assert (
        _Writer(is_lossless=style == "lossless").struct(cls, message, version) == expected
    ), "without the native engine"
    numbers = {"id": 7, "state": 1, "kind": 6, "past": [-1, 9], "kinds": [60000], "next": 2}
    numbers = {key: value for key, value in numbers.items() if key in expected}
    for given_json in (expected, numbers):
        found = [
            cls.from_json(given_json, version),
            cls.from_json_text(json.dumps(given_json), version),
            _Reader(cls.NAME, version).struct(cls, given_json, version),
        ]
        for each in found:
            assert each == message and each.state is tasks.TaskState.RUNNING
            assert [type(one) for one in each.past] == ([tasks.TaskState, int] if version else [])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"state": "RUNING"}, "state: expected a member of TaskState, got str 'RUNING'; did you mean 'RUNNING'?"),
        ({"state": 128}, "state: expected int8 (-128 to 127), got int 128"),
        ({"state": True}, "state: expected int8 (-128 to 127), got True"),
        ({"kind": 7}, "kind: expected TaskKind: BATCH (5)"),
        ({"kind": 1.5}, "kind: expected uint16 (0 to 65535), got float 1.5"),
    ],
)
def test_json_that_is_rejected(tasks: Any, value: dict[str, Any], message: str) -> None:
    whole = {"id": 7, "state": "RUNNING", "kind": "STREAM"} | value
    for read in (tasks.Task.from_json, lambda obj, version: tasks.Task.from_json_text(json.dumps(obj), version)):
        with pytest.raises(tagwire.EncodeError) as rejected:
            read(whole, 0)
        assert message in str(rejected.value)


def test_explain_shows_both(tasks: Any) -> None:
    text = annotate(trace(tasks.Task, golden(1), 1))
    lines = [line.split(None, 2)[2] if line.startswith(" ") else line for line in text.splitlines()]
    shown = "\n".join(" ".join(line.split()) for line in lines)
    assert "state int8 TaskState 1 (RUNNING)" in shown
    assert "past[0] int8 TaskState -1 (lost.track)" in shown and "past[1] int8 TaskState 9" in shown
    assert "kinds[0] uint16 TaskKind 60000 (PROBE)" in shown
    node = next(node for node in trace(tasks.Task, golden(0), 0).root.walk() if node.path == "state")
    assert (node.value, node.member, node.to_json()["member"]) == (1, "RUNNING", "RUNNING")


def test_trace_stops_at_a_number_that_is_rejected(tasks: Any) -> None:
    found = trace(tasks.Task, UNKNOWN_KINDS, 1)
    assert found.error is not None and (found.error.path, found.error.offset) == ("kinds[1]", 17)


def test_columns_stay_ints(tasks: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    cls = tasks.Task
    column = pa.array(arrow.decode_column(pa.array([golden(2), None], pa.binary()), cls, 2))
    assert column.type.field("state").type == pa.int8() and column.type.field("kind").type == pa.uint16()
    row = {"id": 7, "state": 1, "kind": 6, "past": [-1, 9], "kinds": [60000], "next": 2, "unknown_tags": []}
    assert column.to_pylist() == [row, None]
    assert pa.array(arrow.encode_column(column, cls, 2)).to_pylist() == [golden(2), None]


def test_copies_and_pickles(tasks: Any) -> None:
    message = task(tasks, 2)
    for other in (copy.copy(message), copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
        assert other == message and other.state is tasks.TaskState.RUNNING


def test_select_and_rewrite(tasks: Any) -> None:
    cls, data = tasks.Task, golden(1)
    assert tagwire.select(cls, "past[]").read(data, 1) == [tasks.TaskState.LOST_TRACK, 9]
    one = tagwire.select(cls, "state")
    assert one.read(data, 1)[0] is tasks.TaskState.RUNNING
    changed = one.rewrite(data, 1, lambda state: tasks.TaskState(state + 1))
    assert changed == data.replace(b"\x01\x00\x06", b"\x02\x00\x06", 1)
    with pytest.raises(tagwire.EncodeError, match=r"kind: expected TaskKind: .*, got int 7"):
        tagwire.select(cls, "kind").rewrite(data, 1, lambda kind: 7)


@pytest.mark.parametrize("version", range(3))
def test_engines_agree(tasks: Any, version: int) -> None:
    check_drawn(tasks.Task, version)


def test_get_and_set_on_the_command_line(tasks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(tasks.__file__).parents[1]))

    words = ("Task", "0", "--package", "enum_messages", "--hex")
    assert tagwire_output("get", *words, "state", "kind", stdin=GOLDEN[0]) == "RUNNING\tSTREAM\n"
    # Only the state byte changes, from 1 to 2.
    for state in ("state=DONE", "state=2"):
        assert tagwire_output("set", *words, state, stdin=GOLDEN[0]) == "00000007020006\n"


def problems(field: dict[str, Any], *registers: dict[str, Any]) -> list[tuple[str, str]]:
    spec = TASK | {"fields": [{"name": "A", "versions": "0+", **field}]}
    known = registers_among(json.dumps(each).encode() for each in (STATE, KIND, *registers))
    return [(each.rule, each.message) for each in read_spec(json.dumps(spec), registers=known).problems]


def test_invalid_uses_of_enums() -> None:
    [(rule, text)] = problems({"type": "int8", "enum": "TaskStat"})
    assert rule == "TW417" and "the set has no register 'TaskStat'; did you mean 'TaskState'?" in text
    [(rule, text)] = problems({"type": "string", "enum": "TaskState"})
    assert rule == "TW418" and "is string, but only integers" in text
    [(rule, text)] = problems({"type": "int8", "enum": "TaskKind"})
    assert rule == "TW419" and "is int8, -128 to 127, but TaskKind has 60000 ('PROBE')" in text
    for key, rules in ((-129, ["TW419"]), (-128, []), (127, []), (128, ["TW419"])):
        edge = {"name": "Edge", "type": "register", "keys": "int16", "entries": [{"key": key, "name": "EDGE"}]}
        assert [rule for rule, _ in problems({"type": "int8", "enum": "Edge"}, edge)] == rules
    [(rule, text)] = problems({"type": "int16", "enum": "TaskState", "default": "GONE"})
    assert rule == "TW502" and "'GONE' is neither a number nor a name of TaskState" in text
    [(rule, text)] = problems({"type": "uint16", "enum": "TaskKind"})
    assert rule == "TW509" and 'write "default" with one of BATCH, STREAM, PROBE' in text
    assert problems({"type": "uint16", "enum": "TaskKind", "default": "6"}) == []
    assert problems({"type": "[]uint16", "enum": "TaskKind"}) == []
    tagged = {"type": "uint16", "enum": "TaskKind", "versions": "2+", "nullableVersions": "2+", "taggedVersions": "2+"}
    [(rule, text)] = problems(tagged | {"tag": 0})
    assert rule == "TW511" and '"default": "null"' in text
    assert problems(tagged | {"tag": 0, "default": "null"}) == []


def test_register_that_is_not_valid_is_reported_once() -> None:
    broken = {"name": "Odd", "type": "register", "keys": "int8", "entries": [{"key": 300, "name": "FAR"}]}
    assert problems({"type": "int8", "enum": "Odd"}, broken) == []


def test_references_are_not_checked_outside_of_a_set() -> None:
    assert read_spec(json.dumps(TASK)).problems == ()


def test_importing_a_message_is_lazy(tmp_path: Path) -> None:
    package = build_package(tmp_path, "lazy_enum_messages", [STATE, KIND, TASK])
    assert "lazy_enum_messages.task_state" not in sys.modules
    assert package.Task and "lazy_enum_messages.task_state" in sys.modules


def test_a_new_spec_of_a_set_is_formatted_as_it_is_written() -> None:
    text = json.dumps(TASK).replace('"default": "BATCH"', '"default": "0x5"')
    formatted = format_spec(text, file="Task.json", options=OPTIONS)
    assert '"enum": "TaskState"' in formatted and '"default": "RUNNING"' in formatted and '"default": "5"' in formatted
