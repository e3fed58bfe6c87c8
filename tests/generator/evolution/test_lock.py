import json
from pathlib import Path
from typing import Any

import pytest

from tagwire_generator.evolution.check import Check
from tagwire_generator.evolution.lock import Lock, LockError, read_lock, updated_lock
from tagwire_generator.evolution.spec_sources import SpecData, SpecReader, SpecSources
from tagwire_generator.project.options import SpecOptions

OPTIONS = SpecOptions()


def field(name: str = "A", type: str = "int32", versions: str = "0+", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "versions": versions, **more}


def tagged(name: str = "T", tag: int = 0, type: str = "int32") -> dict[str, Any]:
    return field(name, type, tag=tag, taggedVersions="0+")


def spec(*fields: dict[str, Any], name: str = "R", valid: str = "0-2", **more: Any) -> dict[str, Any]:
    head = {"type": "metadata", "apiKey": 1, "name": name, "validVersions": valid, "flexibleVersions": "0+"}
    return {**head, **more, "fields": list(fields)}


def sources(*specs: dict[str, Any], component: str = "", options: SpecOptions = OPTIONS) -> SpecSources:
    files = [SpecData(f"{each['name']}.json", component, json.dumps(each).encode()) for each in specs]
    read = SpecReader().read(files, options)
    assert not read.invalid, read.invalid
    return read


def saved(lock: Lock, folder: Path) -> Lock:
    """Save the lock to a file, and return the lock that is read from this file.

    Check that saving the lock again writes the same text.
    """
    path = folder / "lock.json"
    path.write_text(str(lock), "utf-8")
    again = read_lock(path)
    assert str(again) == str(lock)
    return again


def released(folder: Path, *releases: list[dict[str, Any]]) -> Lock:
    lock: Lock | None = None
    for release in releases:
        lock = saved(updated_lock(lock, sources(*release), OPTIONS), folder)
    assert lock is not None
    return lock


def rules(lock: Lock, *specs: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each.rule, each.versions) for each in Check(lock.baseline(), sources(*specs)).findings()]


def test_the_text_is_canonical_and_sorted(tmp_path: Path) -> None:
    one, two = spec(field(about="prose"), name="Z"), spec(field(versions="0-2"), name="B", apiKey=2)
    text = str(updated_lock(None, sources(one, two), OPTIONS))
    assert text == str(updated_lock(None, sources(two, one), OPTIONS))
    assert text.startswith('{\n  "tagwire lock": 1,\n')
    assert '          { "name": "A", "type": "int32", "versions": "0-2" }\n' in text
    assert "prose" not in text
    document = json.loads(text)
    assert [each["name"] for each in document["messages"]] == ["B", "Z"]
    assert list(document["messages"][0]) == ["name", "component", "current"]


def test_components_are_kept(tmp_path: Path) -> None:
    lock = saved(updated_lock(None, sources(spec(field()), component="group"), OPTIONS), tmp_path)
    assert lock.baseline().specs["R"].spec.component == "group"
    assert json.loads(str(lock))["messages"][0]["component"] == "group"
    assert saved(Lock(()), tmp_path).messages == ()


def test_dropped_versions_can_not_come_back_with_other_bytes(tmp_path: Path) -> None:
    lock = released(tmp_path, [spec(field())], [spec(field(), valid="2-3")], [spec(field(), valid="3-4")])
    [message] = lock.messages
    assert [str(edition.versions) for edition in message.archive] == ["0-1", "2"]
    assert updated_lock(lock, sources(spec(field(), valid="0-4")), OPTIONS).messages[0].archive == ()
    assert rules(lock, spec(field(), valid="0-4")) == []
    assert rules(lock, spec(field(versions="1+"), valid="0-4")) == [("TW905", "0")]
    assert rules(lock, spec(field(), field("B", versions="0-2"), valid="1-4")) == [("TW904", "1"), ("TW904", "2")]


def test_versions_missing_from_the_lock_are_not_free(tmp_path: Path) -> None:
    lock = released(tmp_path, [spec(field(), valid="1-2")], [spec(field(), valid="2-3")])
    assert rules(lock, spec(field(), valid="1-4")) == []
    assert rules(lock, spec(field(), valid="0-4")) == [("TW929", "0")]
    removed = released(tmp_path, [spec(field(), valid="1-2"), spec(name="S", apiKey=2)], [spec(name="S", apiKey=2)])
    assert rules(removed, spec(name="S", apiKey=2), spec(field(), valid="0-3")) == [("TW929", "0")]


def test_removed_message_keeps_its_bytes_and_its_key(tmp_path: Path) -> None:
    lock = released(tmp_path, [spec(field()), spec(name="S", apiKey=2)], [spec(name="S", apiKey=2)])
    removed = next(each for each in lock.messages if each.name == "R")
    assert (removed.current, [str(edition.versions) for edition in removed.archive]) == (None, ["0-2"])
    other = spec(name="S", apiKey=2)
    assert rules(lock, other) == []
    assert rules(lock, other, spec(field())) == []
    assert rules(lock, other, spec(field("A", "int64"))) == [("TW903", "0-2")]
    assert rules(lock, other, spec(field(), name="New")) == [("TW925", "0-2")]
    assert str(updated_lock(lock, sources(other), OPTIONS)) == str(lock)
    back = saved(updated_lock(lock, sources(other, spec(field(), valid="1-2")), OPTIONS), tmp_path)
    assert [str(edition.versions) for edition in back.messages[0].archive] == ["0"]


def test_key_reserved_by_a_removed_message(tmp_path: Path) -> None:
    none = {"type": "metadata", "apiKey": 1, "name": "R", "validVersions": "none"}
    lock = released(tmp_path, [spec(field())], [none], [spec(name="S", apiKey=2)])
    assert rules(lock, spec(name="S", apiKey=2)) == []
    assert [rule for rule, _ in rules(lock, spec(name="S", apiKey=2), spec(name="T", apiKey=1))] == ["TW925"]


def test_a_renamed_message_keeps_its_history(tmp_path: Path) -> None:
    lock = released(tmp_path, [spec(field())], [spec(field(), valid="1-2", name="Q", aliases=["R"])])
    assert [each.name for each in lock.messages] == ["Q"]
    assert rules(lock, spec(field(versions="1+"), name="Q")) == [("TW905", "0")]


def test_a_tag_of_long_ago_is_never_used_again(tmp_path: Path) -> None:
    first = [spec(field(), tagged("Old", 0, "string"), tagged("T", 1))]
    then = [spec(field(), tagged("T", 1), reservedTags=[0])]
    lock = released(tmp_path, first, then, [spec(field(), tagged("T", 1), reservedTags=[0])])
    assert '"retiredTags": {\n        "": {"0": "old string"}\n      }' in str(lock)
    assert rules(lock, spec(field(), tagged("New", 0), tagged("T", 1))) == [("TW926", "0-2")]
    assert rules(lock, spec(field(), tagged("Old", 0, "string"), tagged("T", 1))) == []


def test_tags_of_structs_follow_a_renamed_field(tmp_path: Path) -> None:
    def of(name: str, *fields: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
        return [spec(field(name, "[]S", fields=list(fields), **more))]

    first, then = of("L", field(), tagged("Old")), of("M", field(), reservedTags=[0])
    lock = released(tmp_path, first, then)
    assert lock.messages[0].retired_tags == {"m": {0: "old int32"}}
    assert rules(lock, *of("M", field(), tagged("New"))) == [("TW926", "0-2")]


def test_unstable_versions_are_not_released(tmp_path: Path) -> None:
    def request(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
        return spec(*fields, type="request", name="FooRequest", latestVersionUnstable=True, **more)

    def response(valid: str) -> dict[str, Any]:
        return spec(field(), type="response", name="FooResponse", valid=valid)

    once, then = [request(field()), response("0-2")], [request(field(), valid="0-1"), response("0-1")]
    lock = released(tmp_path, once, then)
    assert [each.archive for each in lock.messages] == [(), ()]
    assert rules(lock, request(field(), field("B", versions="1+"), valid="0-1"), response("0-1")) == [("TW962", "1")]


def test_options_are_released_too(tmp_path: Path) -> None:
    head = {"type": "data", "name": "D", "validVersions": "0", "versionsWithOptional": "0+"}
    draft = {**head, "optionalFields": [{"name": "T", "type": "int32", "tag": "0x0001"}], "fields": []}
    unsigned = SpecOptions(length_varint="unsigned")
    lock = saved(updated_lock(None, sources(draft, options=unsigned), unsigned), tmp_path)
    assert lock.options == unsigned
    assert Check(lock.baseline(), sources(draft, options=unsigned)).findings() == ()
    [finding] = Check(lock.baseline(), sources(draft)).findings()
    assert (finding.rule, finding.proof is not None) == ("TW901", True)


def test_a_spec_in_a_lock_that_is_not_valid_any_more(tmp_path: Path) -> None:
    path = tmp_path / "lock.json"
    path.write_text(str(released(tmp_path, [spec(field())])).replace('"int32"', '"int33"'))
    [finding] = Check(read_lock(path).baseline(), sources(spec(field()))).findings()
    assert (finding.rule, finding.severity, finding.message_name) == ("TW402", "error", "R")
    assert (finding.file, finding.line) == (str(path), 1)


@pytest.mark.parametrize("part", ["{}", '{"fields": {}}', '{"fields": [{}]}'])
def test_invalid_field_in_a_lock(tmp_path: Path, part: str) -> None:
    path = tmp_path / "lock.json"
    current = f'{{"name": "R", "type": "data", "validVersions": "0", "flexibleVersions": "none", "fields": [{part}]}}'
    path.write_bytes(locked(locked_message(current, "R")))
    findings = list(Check(read_lock(path).baseline(), sources(spec(field()))).findings())
    assert findings and {(each.severity, each.message_name, each.line) for each in findings} == {("error", "R", 1)}


def locked(*messages: str) -> bytes:
    return f'{{"tagwire lock": 1, "options": {{}}, "messages": [{", ".join(messages)}]}}'.encode()


def locked_message(current: str, name: str = "A") -> str:
    return f'{{"name": "{name}", "component": "", "current": {current}}}'


NAMED_A = locked_message('{"name": "A", "type": "data"}')
NO_LOCKS = {
    "no such lock file; run `tagwire lock` to write it": None,
    "is not valid JSON: Expecting": b"<<<<<<< HEAD\n{}",
    "is not JSON: the file is binary or nested too deeply": b"\xff",
    "expected a lock file of format 1": b"[]",
    "expected a lock file of format 1, got format 2; update tagwire": b'{"tagwire lock": 2}',
    "written by tagwire: KeyError('messages')": b'{"tagwire lock": 1}',
    "'options'": b'{"tagwire lock": 1, "messages": []}',
    "TypeError": b'{"tagwire lock": 1, "messages": 3, "options": {}}',
    "a spec set has no option 'x'": b'{"tagwire lock": 1, "messages": [], "options": {"x": 1}}',
    "has no current spec and no archived spec": locked(locked_message("null")),
    "the message 'A' contains the spec of 'B'": locked(locked_message('{"name": "B", "type": "data"}')),
    "KeyError('type')": locked(locked_message('{"name": "A"}')),
    "duplicate message 'A'": locked(NAMED_A, NAMED_A),
    "surrogates not allowed": locked(locked_message('{"name": "\\ud800", "type": "data"}', "\\ud800")),
    "duplicate key 'messages' in an object": b'{"tagwire lock": 1, "messages": [], "messages": []}',
    "can't have the key 'bad'": locked(locked_message('{"bad": 1}')),
}


@pytest.mark.parametrize("reason", NO_LOCKS)
def test_files_that_are_not_locks(tmp_path: Path, reason: str) -> None:
    path = tmp_path / "x.json"
    content = NO_LOCKS[reason]
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LockError) as caught:
        read_lock(path)
    assert reason in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert caught.value.file == str(path)


def test_folder_is_rejected_as_a_lock_file(tmp_path: Path) -> None:
    with pytest.raises(LockError, match="can't be read"):
        read_lock(tmp_path)
