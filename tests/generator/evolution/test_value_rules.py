import json
from pathlib import Path
from typing import Any

from task_specs import KIND, STATE, TASK

from tagwire_generator.evolution import compare_messages
from tagwire_generator.evolution.check import Check
from tagwire_generator.evolution.lock import read_lock, updated_lock
from tagwire_generator.evolution.spec_sources import SpecData, SpecReader, SpecSources
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.register import registers_among
from tagwire_generator.reading.spec import read_spec


def changed(entries: list[dict[str, Any]], name: str = "TaskState", **more: Any) -> list[Any]:
    """Give the enum `name` new `entries`. Return the breaking changes in message `Task`, which uses the enum."""
    base = next(each for each in (STATE, KIND) if each["name"] == name)
    after = base | {"entries": entries} | more
    sides = []
    for register in (base, after):
        others = [each for each in (STATE, KIND) if each["name"] != name]
        known = registers_among(json.dumps(each).encode() for each in (register, *others))
        message = read_spec(json.dumps(TASK), registers=known).message
        assert message is not None
        sides.append(message)
    return [each for each in compare_messages(*sides) if each.path in ("state", "kind")]


def entries(*pairs: tuple[int, str]) -> list[dict[str, Any]]:
    return [{"key": key, "name": name} for key, name in pairs]


SAME = [(0, "NEW"), (1, "RUNNING"), (2, "DONE"), (-1, "lost.track")]


def test_a_renumbered_member_is_proven() -> None:
    [finding] = changed(entries((0, "NEW"), (2, "RUNNING"), (1, "DONE"), (-1, "lost.track")))[:1]
    assert (finding.rule, finding.severity) == ("TW915", "wire")
    assert "RUNNING was 1 and is now 2" in finding.message
    proof = finding.proof
    assert proof is not None and proof.reader == "old" and proof.old_bytes and proof.new_bytes
    # The bytes are id 0 (4 bytes) and the state DONE. Its number changed from 2 to 1. Old readers decode 1 as RUNNING.
    assert proof.old_bytes[:5].hex() == "0000000002" and proof.new_bytes[:5].hex() == "0000000001"
    assert proof.value["state"] == "DONE" and proof.reads["state"] == "RUNNING"


def test_compatible_changes_of_an_open_register() -> None:
    assert changed(entries(*SAME, (3, "LATE"))) == [], "old peers keep the number"
    [renamed] = changed(entries((0, "NEW"), (1, "RUNNING"), (2, "ENDED"), (-1, "lost.track")))
    assert (renamed.rule, renamed.severity) == ("TW947", "source") and "2 was DONE and is now ENDED" in renamed.message
    [removed] = changed(entries((0, "NEW"), (1, "RUNNING"), (-1, "lost.track")))
    assert (removed.rule, removed.severity) == ("TW948", "source") and "DONE (2) was removed" in removed.message
    [closed] = changed(entries(*SAME), closed=True)
    assert (closed.rule, closed.severity) == ("TW916", "wire") and closed.proof is not None
    assert closed.proof.reader == "new" and "expected TaskState: NEW (0)" in closed.proof.error.replace(
        "lost.track (-1), ", ""
    )


def test_a_closed_register_may_not_change_its_numbers() -> None:
    more = changed(entries((5, "BATCH"), (6, "STREAM"), (60000, "PROBE"), (7, "NEW")), "TaskKind")
    assert [each.rule for each in more] == ["TW916"] and more[0].proof is not None
    # The bytes are id 0 (4 bytes), state 0 (1 byte), and kind 7 (2 bytes). The old reader does not know kind 7.
    assert more[0].proof.reader == "old" and more[0].proof.new_bytes[:7].hex() == "00000000000007"
    assert "found 7, expected TaskKind: BATCH (5)" in more[0].proof.error
    less = changed(entries((5, "BATCH"), (6, "STREAM")), "TaskKind")
    assert sorted(each.rule for each in less) == ["TW916", "TW948"]
    assert all(each.proof is not None and each.proof.reader == "new" for each in less if each.rule == "TW916")
    [opened] = changed([*KIND["entries"]], "TaskKind", closed=False)
    assert opened.rule == "TW916" and opened.proof is not None and opened.proof.reader == "old"


def test_field_gets_another_enum() -> None:
    other = STATE | {"name": "State"}
    known = registers_among(json.dumps(each).encode() for each in (STATE, KIND, other))

    def rules(old: str | None, new: str | None) -> list[tuple[str, str]]:
        sides = []
        for enum in (old, new):
            field = {"name": "A", "type": "int8", "versions": "0+"} | ({"enum": enum} if enum else {})
            message = read_spec(json.dumps(TASK | {"fields": [field]}), registers=known).message
            assert message is not None
            sides.append(message)
        return [(each.rule, each.message) for each in compare_messages(*sides)]

    [(rule, text)] = rules(None, "TaskState")
    assert rule == "TW949" and "the field had no enum and now has the enum TaskState" in text
    [(rule, text)] = rules("TaskState", "State")
    assert rule == "TW949" and "the enum was TaskState and is now State" in text


def test_a_lock_remembers_the_registers(tmp_path: Path) -> None:
    def sources(*specs: dict[str, Any]) -> SpecSources:
        return SpecReader().read(
            [SpecData(f"{each['name']}.json", "", json.dumps(each).encode()) for each in specs], SpecOptions()
        )

    path = tmp_path / "lock.json"
    path.write_text(str(updated_lock(None, sources(STATE, KIND, TASK), SpecOptions())), encoding="utf-8")
    lock = read_lock(path)
    assert [each["name"] for each in lock.registers] == ["TaskKind", "TaskState"]
    assert "A worker has it" not in path.read_text(encoding="utf-8")
    assert Check(lock.baseline(), sources(STATE, KIND, TASK)).findings() == ()
    renumbered = STATE | {"entries": entries((0, "NEW"), (3, "RUNNING"), (2, "DONE"), (-1, "lost.track"))}
    found = Check(lock.baseline(), sources(renumbered, KIND, TASK)).findings()
    assert {each.rule for each in found if each.severity == "wire"} == {"TW912", "TW915"}
