import gzip
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from growth import cpu_seconds, grows_linearly, lines_run

import tagwire
import tagwire_messages as messages
from tagwire.explain import assemble as assemble_module
from tagwire.explain.assemble import AssembleError, Line, assemble, fix_lengths
from tagwire.explain.text import annotate, parse_annotated
from tagwire.records import BatchBuilder, read_batches
from tagwire.records.format_set import format_names
from tagwire.records.opening import trace_batches
from tagwire.sensitive import showing_sensitive
from tagwire_messages.metadata_response import MetadataResponseBroker, MetadataResponseTopic

OURS = [name for name in format_names() if name[0] in "vk"]
TESTS = Path(__file__).parents[2]
HEARTBEAT = messages.HeartbeatRequest(group_id="g", generation_id=3, member_id="m").encode(4)
TEXT = annotate(tagwire.trace(messages.HeartbeatRequest, HEARTBEAT, 4))


def test_hidden_bytes_are_rejected() -> None:
    data = messages.SaslAuthenticateRequest(auth_bytes=b"secret").encode(2)
    with pytest.raises(AssembleError, match="the bytes themselves; run `tagwire explain` with --show-sensitive"):
        assemble(annotate(tagwire.trace(messages.SaslAuthenticateRequest, data, 2)))


def test_golden_bytes() -> None:
    paths = sorted((TESTS / "golden_bytes").rglob("*.txt"))
    assert len(paths) > 200
    for path in paths:
        for section in path.read_text(encoding="utf-8").split("=== version ")[1:]:
            text = section.split("\n", 2)[2]
            assert assemble(text) == [parse_annotated(text)], path
            assert assemble(text, fix=True) == [parse_annotated(text)], path


def test_frames() -> None:
    with gzip.open(TESTS / "data" / "captures" / "captures.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["dir"] == "req" and row["api_version"] != 99][::50]
    for row in rows:
        data = bytes.fromhex(row["hex"])
        for width in (4, 16):
            with showing_sensitive():
                text = annotate(tagwire.trace_request(messages.registry, data), bytes_a_line=width)
            assert assemble(text) == assemble(text, fix=True) == [data]


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("format", OURS)
def test_batches(format: str, compression: str) -> None:
    data = BatchBuilder(format, compression=compression).append(value=b"v" * 40).append(key=b"k").build().encode()
    texts = [annotate(seen) for seen in trace_batches(2 * data, format)]
    assert b"".join(assemble("".join(texts))) == 2 * data and len(assemble("".join(texts))) == len(texts)
    assert b"".join(assemble("".join(texts), fix=True)) == 2 * data


@pytest.mark.parametrize("size", range(len(HEARTBEAT)))
def test_frames_and_batches_with_errors(size: int) -> None:
    text = annotate(tagwire.trace(messages.HeartbeatRequest, HEARTBEAT[:size], 4))
    assert assemble(text) == [HEARTBEAT[:size]]


def test_no_message() -> None:
    assert assemble("") == assemble("# nothing\n\n") == []
    assert assemble(TEXT.splitlines()[1]) == [b""]


@pytest.mark.parametrize(
    ("old", "new", "data"),
    [
        ("02 67       ", "05 67       ", "05 67 00000003 02 6d 00 00"),
        ("02 67       ", "026768696a  ", "0267 68696a 00000003 02 6d 00 00"),
        ("02 67       ", '04 "abc"     ', "04616263 00000003 02 6d 00 00"),
        ("02 67       ", '"A\\u00e9" ff*3 00  ', "41c3a9 ffffff 00 00000003 02 6d 00 00"),
        ("02 67       ", '"a  b"*2  ', "6120206261202062 00000003 02 6d 00 00"),
        ("02 67       ", "            ", "00000003 02 6d 00 00"),
        ("     0  02 67", "           02 67", "02 67 00000003 02 6d 00 00"),
        ("     0  02 67", "  9999  02 67", "02 67 00000003 02 6d 00 00"),
        ("     0  02 67", "# gone  02 67", "00000003 02 6d 00 00"),
        ("group_id ", "12 34 00 ", "02 67 00000003 02 6d 00 00"),
        ("'g'", "'''", "02 67 00000003 02 6d 00 00"),
    ],
)
def test_bytes_take_precedence_over_values(old: str, new: str, data: str) -> None:
    assert TEXT.count(old) == 1
    assert assemble(TEXT.replace(old, new)) == [bytes.fromhex(data)]


@pytest.mark.parametrize(
    "line",
    [
        "        ff ff",
        "ff ff",
        "     -  ff ff",
        "  .  ffff",
        "        FF*2  # why",
        "        ff ff   path  int16  -1",
        "0  ff ff#x",
    ],
)
def test_lines_may_be_added(line: str) -> None:
    lines = TEXT.splitlines()
    lines.insert(3, line)
    assert assemble("\r\n".join(lines)) == [HEARTBEAT[:2] + b"\xff\xff" + HEARTBEAT[2:]]


def test_lines_may_be_doubled_moved_and_left_out() -> None:
    head, titles, first, second, *rest = TEXT.splitlines()
    data = HEARTBEAT[2:6] + HEARTBEAT[:2] * 2 + HEARTBEAT[6:-1]
    assert assemble("\n".join([head, titles, second, first, first, *rest[:-1]])) == [data]
    assert assemble("\n".join([first, second, *rest])) == [HEARTBEAT]  # without the title lines


def test_many_groups_of_digits_are_one_token(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    match = assemble_module._TOKEN.match

    def counted(*at: Any) -> Any:
        calls.append(1)
        return match(*at)

    counting = SimpleNamespace(match=counted)
    monkeypatch.setattr(assemble_module, "_TOKEN", counting)
    assert assemble("  " + 1000 * "00 " + "01*3 02 03#") == [bytes(1000) + b"\1\1\1\2\3"]
    assert len(calls) < 5


def test_fixing_copies_no_lines_below_each_line() -> None:
    class Lines(list[Line]):
        def __getitem__(self, at: Any) -> Any:
            raise AssertionError(at)

    lines = Lines([Line(b"\0\0", "a", "int16 length"), Line(b"abc", "b", "raw bytes")])
    fix_lengths(lines)
    assert next(iter(lines)).data == b"\0\3"


def test_colours_do_not_matter() -> None:
    assert assemble(TEXT.replace("02 67", "\x1b[32m02 67\x1b[0m")) == [HEARTBEAT]


def test_nothing_is_read_as_a_field_that_looks_like_hex() -> None:
    text = "offset  bytes  path  type   value\n     0         face  int8   1\n     0  01 \tface  int8   1\n"
    assert assemble(f"{text}     0  02 \t             \n") == [b"\1\2"]


@pytest.mark.parametrize(
    ("line", "at", "found"),
    [
        ("        0", (3, 9), "'0', an odd number of digits"),
        ("     0  abc", (3, 9), "'abc', an odd number of digits"),
        ("        00" + "\u3000" * 13 + "x", (3, 11), "'\\u3000'"),
        ("     0  00 zz", (3, 12), "'zz'"),
        ("    16", (3, 5), "only the offset '16'"),
        ('        "abc', (3, 9), "'\"abc'"),
        ('        "\\q"', (3, 9), '"\\q"'),
        ('        "\\ud800"', (3, 9), '"\\ud800"'),
        ("        00*x", (3, 11), "'*x'"),
        ("        00*99999999999", (3, 9), "99999999999 x 1 bytes"),
        ("        00*9999999999999999999999", (3, 9), " x 1 bytes"),
        ('        "a"b', (3, 12), "'b'"),
    ],
)
def test_rejected_input(line: str, at: tuple[int, int], found: str) -> None:
    lines = TEXT.splitlines()
    lines.insert(2, line)
    with pytest.raises(AssembleError) as caught:
        assemble("\n".join(lines))
    assert (caught.value.line, caught.value.column) == at
    assert str(caught.value).startswith(f"line {at[0]}, column {at[1]}: found ") and found in str(caught.value)


def described(value: messages.MetadataResponse, version: int, *edits: tuple[str, str]) -> messages.MetadataResponse:
    text = annotate(tagwire.trace(messages.MetadataResponse, value.encode(version), version))
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    [data] = assemble(text, fix=True)
    return messages.MetadataResponse.decode(data, version)


def metadata() -> messages.MetadataResponse:
    topics = [MetadataResponseTopic(name="t"), MetadataResponseTopic(name="u")]
    return messages.MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="h")], topics=topics)


@pytest.mark.parametrize("version", [1, 8, 9, 12])
def test_lengths_follow_edited_strings(version: int) -> None:
    prefix = "02 68 " if version >= 9 else "00 01 68 "
    seen = described(metadata(), version, (prefix, f'{prefix} "ost.example.org" '.replace("  ", " ")))
    assert seen.brokers[0].host == "host.example.org"


@pytest.mark.parametrize("version", [1, 9, 12])
def test_counts_fit_elements(version: int) -> None:
    text = annotate(tagwire.trace(messages.MetadataResponse, metadata().encode(version), version))
    lines = text.splitlines()
    first = [line for line in lines if " topics[0]" in line]
    second = [line for line in lines if " topics[1]" in line]
    rest = [line for line in lines if line not in first + second]
    index = next(number for number, line in enumerate(rest) if " topics " in line) + 1
    for chosen in ([], first, first + second, 3 * first, first + second + first, 2 * first + 2 * second):
        [data] = assemble("\n".join(rest[:index] + chosen + rest[index:]), fix=True)
        names = ["t" if line in first else "u" for line in chosen if ".name " in line]
        assert [topic.name for topic in messages.MetadataResponse.decode(data, version).topics] == names


def test_tags_are_counted_and_sized() -> None:
    data = messages.HeartbeatRequest(group_id="g", unknown_tags={99: b"!", 100: b"?"}).encode(4)
    text = annotate(tagwire.trace(messages.HeartbeatRequest, data, 4))
    edited = text.replace("  21  ", "  21*200  ").replace("  3f  ", '  "what"  ')
    [assembled] = assemble(edited, fix=True)
    assert messages.HeartbeatRequest.decode(assembled, 4).unknown_tags == {99: 200 * b"!", 100: b"what"}
    [assembled] = assemble("\n".join(line for line in text.splitlines() if "[99]" not in line), fix=True)
    assert messages.HeartbeatRequest.decode(assembled, 4).unknown_tags == {100: b"?"}


@pytest.mark.parametrize("type", ["length", "count", "tag ²", "tag 99999999999", f"tag {'9' * 5000}"])
def test_bytes_of_unknown_types_are_not_changed(type: str) -> None:
    line = Line(b"\1", "group_id", type)
    fix_lengths([line])
    assert line.data == b"\1"


@pytest.mark.parametrize("format", ["v0", "v1", "v2", "v3", "kip82-str"])
def test_batches_are_whole_again(format: str) -> None:
    data = BatchBuilder(format).append(value=b"before").build().encode()
    [text] = [annotate(seen) for seen in trace_batches(data, format)]
    assert text.count("62 65 66 6f 72 65") == 1
    [assembled] = assemble(text.replace("62 65 66 6f 72 65", '"and afterwards"'), fix=True)
    [batch] = read_batches(assembled, format)
    assert [record.value for record in batch] == [b"and afterwards"]


def test_records_may_be_doubled_in_a_batch() -> None:
    data = BatchBuilder("v2").append(value=b"a").build().encode()
    [text] = [annotate(seen) for seen in trace_batches(data, "v2")]
    record = "".join(f"{line}\n" for line in text.splitlines() if "records[0]" in line)
    [assembled] = assemble(text.replace(record, 3 * record), fix=True)
    [seen] = trace_batches(assembled, "v2")
    assert seen.error is None and sum(node.path.endswith(".value") for node in seen.root.walk()) == 3


def test_null_stays_null_until_it_has_content() -> None:
    text = annotate(tagwire.trace(messages.HeartbeatRequest, HEARTBEAT, 4))
    line = next(line for line in text.splitlines() if "group_instance_id" in line)
    [assembled] = assemble(text.replace(line, line.replace("  00  ", '  00 "me"  ')), fix=True)
    assert messages.HeartbeatRequest.decode(assembled, 4).group_instance_id == "me"


def test_optional_fields_of_the_draft_dialect_stay() -> None:
    path = TESTS / "golden_bytes" / "kip482_rpcs" / "add_offsets_to_txn_request.txt"
    text = path.read_text(encoding="utf-8").split("=== version ")[1].split("\n", 2)[2]
    assert "optional fields" in text and assemble(text, fix=True) == assemble(text)


TITLES = "offset  bytes  path  type  value\n"
TEXTS = {
    "a long line": lambda count: TITLES + "0       " + "00 " * count,
    "texts in a line": lambda count: TITLES + "0       " + '"a" ' * count,
    "lines that go on": lambda count: TITLES + "0       00     a     int8  0\n" + "        00 01 02 03\n" * count,
    "cells": lambda count: TITLES + "0       00" + "  a" * count,
    "colours": lambda count: TITLES + "0       00 " + "\x1b[1m" * count,
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("measure", [lines_run, cpu_seconds])
def test_assembling_grows_with_the_text(measure: Callable[..., float], name: str) -> None:
    def work_of(count: int) -> Callable[[], object]:
        text = TEXTS[name](count)
        return lambda: assemble(text)

    assert grows_linearly(measure, work_of, 200 if measure is lines_run else 2_000)
