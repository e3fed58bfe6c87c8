import json
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_result
from spec_projects import make_project

import tagwire_messages as messages
from tagwire.errors import SpecError
from tagwire_drafts import kip82_int
from tagwire_drafts.kip82_int import ig_header_keys, kafka_header_keys
from tagwire_generator.pipeline import generate
from tagwire_generator.problems import RULES
from tagwire_generator.project.settings import load as load_settings
from tagwire_generator.reading.spec import load, read_spec

RANGES = [
    {"name": "Low", "first": 0, "last": "0x0F"},
    {"name": "High", "first": 16, "last": "31"},
    {"name": "Reserved", "first": 32, "last": 63, "reserved": True},
]


def register(*entries: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"name": "Keys", "type": "register", "keys": "uint32", "ranges": RANGES, "entries": list(entries)} | changes


def entry(key: Any = 1, name: Any = "a.b", range: Any = "Low", **more: Any) -> dict[str, Any]:
    return {"key": key, "name": name, "range": range, **more}


def found(spec: dict[str, Any]) -> list[tuple[str, int]]:
    """Read a register spec from JSON with one entry per line. Return the rule and line of each problem."""
    text = json.dumps(spec).replace('{"key"', '\n{"key"').replace('{"name"', '\n{"name"')
    return [(problem.rule, problem.line) for problem in read_spec(text).problems]


def test_a_register_is_read() -> None:
    result = read_spec(json.dumps(register(entry("0x01", codec="int64"), entry(31, "c", "High", by="us"))))
    assert result.problems == () and result.message is None and result.register is not None
    found = [(each.key, each.name, each.codec) for each in result.register.entries]
    assert found == [(1, "a.b", "int64"), (31, "c", "")]
    assert [str(each) for each in result.register.ranges][1] == "High (0x00000010 to 0x0000001F)"


@pytest.mark.parametrize(("keys", "first", "last"), [("uint8", 0, 255), ("int8", -128, 127), ("uint32", 0, 2**32 - 1)])
def test_a_range_may_contain_all_numbers_of_the_type(keys: str, first: int, last: int) -> None:
    ranges = [{"name": "All", "first": first, "last": last}]
    entries = [entry(first, "low", range="All"), entry(last, "high", range="All")]
    assert read_spec(json.dumps(register(*entries, keys=keys, ranges=ranges))).problems == ()


REJECTED = [
    (register(entry(), entry(1, "c")), [("TW012", 7)]),
    (register(entry(), entry(2, "a.b")), [("TW012", 7)]),
    (register(entry(16)), [("TW013", 6)]),
    (register(entry(-1, range=None), keys="uint16", ranges=[]), [("TW013", 3)]),
    (register(entry(32768, range=None), keys="int16", ranges=[]), [("TW013", 3)]),
    (register(entry(range="Middle")), [("TW014", 6)]),
    (register(entry(range=None)), [("TW014", 6)]),
    (register(entry(33, range="Reserved")), [("TW014", 6)]),
    (register(ranges=[*RANGES, {"name": "Low", "first": 70, "last": 71}]), [("TW014", 6)]),
    (register(ranges=[*RANGES, {"name": "Over", "first": 15, "last": 16}]), [("TW014", 6), ("TW014", 6)]),
    (register(ranges=[*RANGES, {"name": "Back", "first": 71, "last": 70}]), [("TW014", 6)]),
    (register(ranges=[*RANGES, {"name": "Far", "first": 71, "last": 2**32}]), [("TW014", 6)]),
    (register(entry(name="9 lives")), [("TW015", 6)]),
    (register(entry(name="ranges")), [("TW015", 6)]),
    (register(entry(), entry(2, "a_b")), [("TW015", 7)]),
    (register(name="keys"), [("TW206", 2)]),
    (register(name="Registry"), [("TW207", 2)]),
    (register(fields=[]), [("TW110", 5)]),
    (register(names=["FetchRequest.A"]), [("TW016", 5)]),
    (register(keys="float64"), [("TW112", 2)]),
    (register(entry(codec="gzip")), [("TW112", 6)]),
    (register({"key": 1}), [("TW113", 6)]),
    (register(entry("1.5")), [("TW114", 6)]),
]


@pytest.mark.parametrize(("spec", "expected"), REJECTED)
def test_rejected_input(spec: dict[str, Any], expected: list[tuple[str, int]]) -> None:
    assert found(spec) == expected


def test_each_rule_about_registers_is_seen_to_reject() -> None:
    seen = {rule for _, rules in REJECTED for rule, _ in rules if rule.startswith("TW0")}
    assert seen == {rule for rule in RULES if rule.startswith("TW0") and rule > "TW011"}


def test_key_outside_its_range_is_reported_with_the_range() -> None:
    [problem] = read_spec(json.dumps(register(entry(16)))).problems
    assert "the key 16 (0x00000010) of 'a.b' is outside its range Low (0x00000000 to 0x0000000F)" in problem.message


def test_register_is_rejected_as_a_message(tmp_path: Path) -> None:
    (tmp_path / "Keys.json").write_text(json.dumps(register(entry())))
    with pytest.raises(SpecError, match="this spec defines a register"):
        load(tmp_path / "Keys.json")


def test_a_set_has_its_registers_from_a_folder_of_their_own(tmp_path: Path) -> None:
    root = make_project(tmp_path)
    (root / "pyproject.toml").write_text((root / "pyproject.toml").read_text() + 'registers = "registers"\n')
    (root / "registers").mkdir()
    path = root / "registers" / "Keys.json"
    path.write_text(json.dumps(register(entry(description='Says """ \\ and\nmore.'), suffix="_ID")))
    [spec_set] = load_settings(root).sets
    assert load_settings(root).set_of(path) == spec_set
    for _ in range(2):  # the first run renders the module, the second reads it from the cache
        package = generate(spec_set, jobs=1)
        assert not package.has_errors
        keys: dict[str, Any] = {}
        exec(package.files["keys.py"], keys)
        assert keys["Keys"].A_B_ID == 1 and keys["name_of"](1) == "a.b" and keys["key_of"]("a.b") is keys["Keys"].A_B_ID
        assert '"Keys": "keys"' in package.files["__init__.py"] and "Keys as Keys" in package.files["__init__.pyi"]
    path.write_text(json.dumps(register(entry(16))))
    assert [problem.rule for problem in generate(spec_set, jobs=1).problems] == ["TW013"]


def test_header_keys_have_the_proposal_s_own_spelling() -> None:
    keys = kip82_int.KafkaHeaderKeys
    assert (keys.CLIENT_ID_KEY, keys.CLUSTER_ID_KEY, keys.CORRELATION_ID_KEY) == (1, 2, 3)
    assert kafka_header_keys.name_of(1) == "client.id" and kafka_header_keys.name_of(4) is None
    assert kafka_header_keys.key_of("new.relic") == 2100001 == 0x200B21
    assert int(keys.APPDYNAMICS_KEY) == 2100002
    assert int(ig_header_keys.IgHeaderKeys.APP_NAME_KEY) == 1114000 == 0x10FF90
    assert int(ig_header_keys.IgHeaderKeys.CHARGE_TAG_KEY) == 1050000 == 0x100590


def test_the_ranges_of_the_proposal_have_no_gap() -> None:
    ranges = kafka_header_keys.RANGES
    assert [each.first for each in ranges] == [0, *(each.last + 1 for each in ranges[:-1])]
    assert ranges[-1].last == 0xFFFFFFFF and sum(each.reserved for each in ranges) == 5
    assert next(each.name for each in ranges if 0x00340010 in each) == "Testing - User"


@pytest.mark.parametrize(
    "path", ["Task.sttae", "Nope.state", "Task.note", "*.sttae", "*.rows.state", "Task.mood", "Task.state", "*.state"]
)
def test_validate_and_generate_report_the_same_line(tmp_path: Path, path: str) -> None:
    fields = [
        {"name": "State", "type": "int8", "versions": "0+"},
        {"name": "Note", "type": "string", "versions": "0+"},
        {"name": "Mood", "type": "int8", "versions": "0+", "enum": "Moods"},
    ]
    task = {"name": "Task", "type": "data", "dialect": "tagwire", "validVersions": "0", "flexibleVersions": "none"}
    states = {"name": "States", "type": "register", "keys": "int8", "names": ["MARK", path], "entries": []}
    position = "specs/States.json", 2
    (tmp_path / "specs").mkdir()
    for spec in (task | {"fields": fields}, states, states | {"name": "Moods", "names": []}):
        text = json.dumps(spec).replace('"MARK", ', "\n")
        (tmp_path / "specs" / f"{spec['name']}.json").write_text(text)
    (tmp_path / "pyproject.toml").write_text('[[tool.tagwire.sets]]\nspecs = "specs"\npackage = "own"\noutput = "."\n')
    [own] = load_settings(tmp_path).sets
    problems = generate(own, use_cache=False, jobs=1).problems
    done = tagwire_result("validate", str(tmp_path / "specs"), "--json")
    assert [each["rule"] for each in json.loads(done.stdout)] == [each.rule for each in problems]
    if path.endswith(".state") and path.count(".") == 1 and not path.startswith("Nope"):
        assert problems == ()
    else:
        assert [(each.rule, each.file, each.line) for each in problems] == [("TW016", *position)]


def test_names_of_constants() -> None:
    """Check that `µg` needs an explicit constant name: the derived name replaces `µ` with an underscore (`_G`)."""
    spec = register(entry(1, "µg", constant="MICROGRAM"), entry(2, "mg"), suffix="_UNIT")
    result = read_spec(json.dumps(spec)).register
    assert result is not None
    assert [result.constant(each) for each in result.entries] == ["MICROGRAM_UNIT", "MG_UNIT"]
    assert found(register(entry(1, "µg"))) == [("TW015", 6)]
    assert found(register(entry(1, "µg", constant="1G"))) == [("TW015", 6)]


def test_error_codes_have_names_and_retriable_flags() -> None:
    code = messages.ErrorCode
    assert code(3).name == code(3).text == "UNKNOWN_TOPIC_OR_PARTITION" and code(3).is_retriable
    assert int(code.NONE) == 0 and not code.NONE.is_retriable
    assert not code.TOPIC_AUTHORIZATION_FAILED.is_retriable and code.NOT_LEADER_OR_FOLLOWER.is_retriable
    assert code.name_of(-1) == "UNKNOWN_SERVER_ERROR" and code.name_of(9999) is None
    assert [int(each) for each in code] == list(range(-1, len(code) - 1))
    assert isinstance(messages.error_code.ErrorCode(6), int)


@pytest.mark.parametrize(("register_", "want"), [
    (messages.TransactionStatus, "Empty Ongoing PrepareCommit PrepareAbort CompleteCommit CompleteAbort Dead "
     "PrepareEpochFence"),
    (messages.DeliveryState, "AVAILABLE ACQUIRED ACKNOWLEDGED ARCHIVING ARCHIVED"),
    (messages.GroupMemberState, "STABLE UNREVOKED_PARTITIONS UNRELEASED_PARTITIONS"),
    (messages.StreamsMemberState, "- STABLE UNREVOKED_TASKS UNRELEASED_TASKS"),
    (messages.RemoteLogSegmentState, "COPY_SEGMENT_STARTED COPY_SEGMENT_FINISHED DELETE_SEGMENT_STARTED "
     "DELETE_SEGMENT_FINISHED"),
    (messages.RemotePartitionDeleteState, "DELETE_PARTITION_MARKED DELETE_PARTITION_STARTED DELETE_PARTITION_FINISHED"),
    (messages.LeaderRecoveryState, "RECOVERED RECOVERING"),
])  # fmt: skip
def test_numbers_of_internal_topics_are_kafkas(register_: Any, want: str) -> None:
    """Check that the registers have the same numbers and names as the enums in Kafka 4.4.0's jars."""
    numbers = {name: number for number, name in enumerate(want.split()) if name != "-"}
    assert {register_.name_of(each): each.value for each in register_ if each != 127} == numbers
