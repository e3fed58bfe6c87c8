import errno
import json
import re
from functools import partial
from pathlib import Path
from random import Random
from unittest.mock import Mock

import pytest
from command import tagwire_result
from spec_projects import read_tree

from tagwire_generator.editing.spec_edit import format_spec
from tagwire_generator.project import resources
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.syntax.canonical import canonical_text, plain_tree
from tagwire_generator.syntax.parse import parse

SPECS = resources.folder("message_specs")
OPTIONS = SpecOptions()
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')

ODD = """\
// Head.
/* Two
     lines. */
{ // behind the bracket
  "type": "request", // what it is
  "apiKey": "7", /* the key */
  // above the name
  "name": "PingRequest", "validVersions": "0-1",
  "listeners": ["broker" /* inner */], // who
  "flexibleVersions": "1+", "deprecatedVersions": null, // nothing
  "fields": [ // first of all
    { "name": "Nonce", /* odd */ "type": "int64", "versions": "0+", "default": 16, "ignorable": false }, // a "text", so
    /* above Boxes */ { "versions": "0+", "name": "Boxes", "type": "[]Box",
      // between
      "fields": [
        { "name": "Id", "type": "int8", "versions": "0+", "about": "no // comment" } // Id
        // end of inner
      ] } // behind Boxes
    // end of fields
  ] // behind fields
  // end of all
}
// tail
"""
FORMATTED = """\
// Head.
/* Two
     lines. */
// nothing
{
  "apiKey": 7, /* the key */
  // behind the bracket
  "type": "request", // what it is
  // above the name
  "name": "PingRequest",
  "validVersions": "0-1",
  "flexibleVersions": "1+",
  /* inner */
  "listeners": ["broker"], // who
  "fields": [
    // first of all
    /* odd */
    { "name": "Nonce", "type": "int64", "versions": "0+", "default": "16" }, // a "text", so
    /* above Boxes */
    // between
    { "name": "Boxes", "type": "[]Box", "versions": "0+", "fields": [
      { "name": "Id", "type": "int8", "versions": "0+", "about": "no // comment" } // Id
      // end of inner
    ] } // behind Boxes
    // end of fields
  ] // behind fields
  // end of all
}
// tail
"""


def test_every_kind_of_comment() -> None:
    assert format_spec(ODD, file="PingRequest.json", options=OPTIONS) == FORMATTED
    assert format_spec(FORMATTED, file="PingRequest.json", options=OPTIONS) == FORMATTED


def commented(text: str, random: Random) -> tuple[str, list[str]]:
    parts: list[str] = []
    comments: list[str] = []
    for token in TOKEN.findall(text):
        while random.random() < 0.08:
            comments.append(f"c{len(comments)}")
            kind = random.choice(("/*{}*/", "/*{}*/\n", "//{}\u2028a\x0cb\n", "\n//{}\n", "\n /* {}\n*/ "))
            parts.append(kind.format(comments[-1]))
        parts.append(token + random.choice(("", " ", "\n")))
    return "".join(parts), comments


PLAIN = [
    "kafka/clients/FetchRequest.json",
    "kafka/clients/MetadataResponse.json",
    "kafka/group/OffsetCommitValue.json",
    "drafts/kip482/FooRequest.json",
]


@pytest.mark.parametrize("name", PLAIN)
def test_comments_anywhere(name: str) -> None:
    root = parse((SPECS / name).read_text(encoding="utf-8"), file=name).root
    assert root is not None
    plain = canonical_text(plain_tree(root))
    for seed in range(8):
        text, comments = commented(plain, Random(seed))
        once = format_spec(text, file=name, options=OPTIONS)
        assert format_spec(once, file=name, options=OPTIONS) == once
        assert sorted(re.findall(r"\bc\d+\b", once)) == sorted(comments), seed
        bare = re.sub(r"//[^\n]*|/\*.*?\*/", "", once, flags=re.DOTALL)
        assert canonical_text(json.loads(bare)) == canonical_text(json.loads(plain))


run = partial(tagwire_result, "fmt", code=0)


def test_check_diff_and_write(project: Path) -> None:
    before = read_tree(project)
    assert "would format message_specs/PingRequest.json" in run("--check", code=1).stderr
    shown = run("--diff")
    assert "--- a/message_specs/PingRequest.json\n" in shown.stdout and "2 of 2 specs would change" in shown.stderr
    assert read_tree(project) == before
    assert "formatted message_specs/PingResponse.json" in run().stderr
    for arguments in ((), ("--check",), ("message_specs", "message_specs/PingRequest.json")):
        assert "0 of 2 specs" in run(*arguments).stderr


@pytest.mark.parametrize(("wrong", "rule"), [(b"int46", "TW402"), (b"int64\xff", "TW102")])
def test_specs_with_errors_are_reported_and_not_changed(project: Path, wrong: bytes, rule: str) -> None:
    bad = project / "message_specs/PingRequest.json"
    before = bad.read_bytes().replace(b"int64", wrong)
    bad.write_bytes(before)
    result = run(code=1)
    assert rule in result.stderr and "1 of 2 specs changed, 1 left unchanged" in result.stderr
    assert bad.read_bytes() == before


@pytest.mark.parametrize("name", ["records/RecordBatchV2.json", "registries/kafka/ErrorCode.json"])
def test_record_formats_and_registers_are_left(name: str) -> None:
    path = SPECS / name
    text = path.read_text(encoding="utf-8")
    assert format_spec(text, file=path.name, options=OPTIONS) == text


def test_standard_input(project: Path) -> None:
    assert run("-", stdin=ODD).stdout == FORMATTED
    assert run("-", "--check", stdin=ODD, code=1).stdout == ""
    assert "TW103" in run("-", stdin="{", code=1).stderr


@pytest.mark.thorough
@pytest.mark.parametrize(
    "folder", ["kafka/clients", "drafts/kip482", "drafts/kip482_rpcs", "records", "registries/kafka"]
)
def test_bundled_specs_are_formatted(folder: str) -> None:
    assert "0 of " in run("--check", str(SPECS / folder)).stderr


def test_written_specs_are_formatted(project: Path) -> None:
    tagwire_result("init", "pongs", "new")
    assert "0 of 4 specs" in run("--check", "new/message_specs").stderr


def test_line_ends_of_windows_are_kept(project: Path) -> None:
    spec = project / "message_specs" / "PingRequest.json"
    spec.write_bytes(ODD.replace("\n", "\r\n").encode())
    run(str(spec))
    assert spec.read_bytes() == FORMATTED.replace("\n", "\r\n").encode()
    run()
    lock = [str(spec.parent), "--file", "released.json"]
    for arguments in (["lock", *lock], ["lock", *lock, "--check"], ["fmt", "--check"]):
        tagwire_result(*arguments, code=0)
        for file in (*spec.parent.glob("*.json"), project / "released.json"):
            file.write_bytes(file.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))


def test_a_spec_that_cannot_be_written_is_not_reported_as_formatted(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = project / "message_specs" / "PingRequest.json"
    spec.write_text(ODD)
    monkeypatch.setattr(Path, "replace", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
    errors = run(str(spec), code=1).stderr
    assert "No space left" in errors and "formatted " not in errors and "1 left unchanged" in errors
    assert spec.read_text() == ODD


def test_a_link_keeps_its_target_and_a_file_its_mode(project: Path) -> None:
    spec = project / "message_specs" / "PingRequest.json"
    target = spec.rename(project / "target.json")
    target.write_text(target.read_text().replace("\n", "\n\n"))
    target.chmod(0o640)
    spec.symlink_to(target)
    run(str(spec))
    assert spec.is_symlink() and "\n\n" not in target.read_text() and target.stat().st_mode & 0o777 == 0o640
