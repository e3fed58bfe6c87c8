import json
import subprocess
from functools import partial
from pathlib import Path

import pytest
from command import tagwire_result
from spec_projects import commit

REQUEST = """\
// Written by hand.
{
  "apiKey": 7, "type": "request", "name": "PingRequest",
  // who uses which
  "validVersions": "0-2", "flexibleVersions": "1+",
  "fields": [
    { "name": "Nonce", "type": "int64", "versions": "0+" }, // any number
    // those that are asked
    { "name": "Hosts", "type": "[]Host", "versions": "0+", "fields": [
      { "name": "Name", "type": "string", "versions": "0+" },
      { "name": "Zone", "type": "Zone", "versions": "0+" } ] },
    { "name": "Trace", "type": "bytes", "versions": "1+", "taggedVersions": "1+", "tag": 0 } // behind
    // the end
  ],
  "commonStructs": [
    { "name": "Zone", "versions": "0+", "reservedTags": [3], "fields": [
      { "name": "Id", "type": "int32", "versions": "0+" }
    ] }
  ],
  "reservedTags": [1]
}
"""
RESPONSE = """\
{
  "apiKey": 7,
  "type": "response",
  "name": "PingResponse",
  "validVersions": "0-2",
  "flexibleVersions": "1+",
  "fields": [
    { "name": "Nonce", "type": "int64", "versions": "0+" }
  ]
}
"""
SETTINGS = '[[tool.tagwire.sets]]\nspecs = "specs"\npackage = "pings"\noptions = { tag_gaps = true }\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "specs").mkdir()
    write(tmp_path)
    return tmp_path


def write(project: Path, request: str = REQUEST, response: str = RESPONSE) -> None:
    (project / "specs/PingRequest.json").write_text(request)
    (project / "specs/PingResponse.json").write_text(response)


run = partial(tagwire_result, "add-version", code=0)


def specs(project: Path) -> tuple[str, str]:
    request, response = ((project / "specs" / f"Ping{kind}.json").read_text() for kind in ("Request", "Response"))
    return request, response


def new(text: str) -> str:
    return text.replace('"0-2"', '"0-3"')


def test_one_more_version(project: Path) -> None:
    result = run("PingRequest")
    assert specs(project) == (new(REQUEST), new(RESPONSE))
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        "PingRequest has a new version 3: specs/PingRequest.json",
        "PingResponse has a new version 3: specs/PingResponse.json",
        "run `tagwire generate` to write the classes",
    ]


ZONE_ID = '      { "name": "Id", "type": "int32", "versions": "0+" }'
FIELDS = {
    "at the end": (
        "--field Agent --type string --default unknown",
        '"tag": 0 } // behind\n',
        '"tag": 0 }, // behind\n    { "name": "Agent", "type": "string", "versions": "3+", "default": "unknown" }\n',
    ),
    "first": (
        "--field Kind --type int8 --before Nonce",
        '"fields": [\n    { "name": "Nonce"',
        '"fields": [\n    { "name": "Kind", "type": "int8", "versions": "3+" },\n    { "name": "Nonce"',
    ),
    "behind a comment, before another": (
        "--field Kind --type int8 --after Nonce",
        "// any number\n",
        '// any number\n    { "name": "Kind", "type": "int8", "versions": "3+" },\n',
    ),
    "in a struct": (
        "--in Hosts --field Rack --type string --after Name --nullable --default null --ignorable",
        '"versions": "0+" },\n      { "name": "Zone"',
        '"versions": "0+" },\n      { "name": "Rack", "type": "string", "versions": "3+", "nullableVersions": "3+", '
        '"default": "null", "ignorable": true },\n      { "name": "Zone"',
    ),
    "in a common struct, by its fields": (
        "--in Hosts.Zone --field Weight --type float64",
        ZONE_ID,
        ZONE_ID + ',\n      { "name": "Weight", "type": "float64", "versions": "3+" }',
    ),
    "in a common struct, by its name, tagged": (
        "--in Zone --field Weight --type float64 --tag next",
        ZONE_ID,
        ZONE_ID
        + ',\n      { "name": "Weight", "type": "float64", "versions": "3+", "tag": 4, "taggedVersions": "3+" }',
    ),
    "tagged": (
        "--field Agent --type string --tag 9 --before Trace --about Who?",
        '    { "name": "Trace"',
        '    { "name": "Agent", "type": "string", "versions": "3+", "tag": 9, "taggedVersions": "3+", '
        '"about": "Who?" },\n    { "name": "Trace"',
    ),
}


@pytest.mark.parametrize("case", FIELDS)
def test_added_field_is_inserted_into_the_spec(project: Path, case: str) -> None:
    words, before, after = FIELDS[case]
    assert REQUEST.count(before) == 1
    run("specs/PingRequest.json", *words.split())
    assert specs(project) == (new(REQUEST).replace(before, after), new(RESPONSE))
    tagwire_result("validate", code=0)


def test_canonical_text_stays_canonical(project: Path) -> None:
    tagwire_result("fmt", code=0)
    run("PingResponse", "--field", "Hosts", "--type", "[]string", "--nullable", "--about", "x" * 60)
    tagwire_result("fmt", "--check", code=0)
    assert json.loads(specs(project)[1])["fields"][1]["about"] == "x" * 60


def test_new_version_is_added_and_old_versions_do_not_change(project: Path) -> None:
    tagwire_result("lock", "specs", "--file", "lock.json", code=0)
    run("PingRequest", "--field", "Agent", "--type", "string")
    result = tagwire_result("breaking", "specs", "--lock", "lock.json", "--fail-on", "policy")
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    run("PingResponse", "--field", "Agent", "--type", "string")
    assert ['"0-4"' in text for text in specs(project)] == [True, True]


def test_response_gets_the_version_that_only_its_request_has(project: Path) -> None:
    write(project, new(REQUEST))
    run("PingResponse")
    assert specs(project) == (new(REQUEST), new(RESPONSE))


def test_a_dry_run_is_a_diff(project: Path) -> None:
    result = run("PingRequest", "--field", "Agent", "--type", "string", "--dry-run")
    assert specs(project) == (REQUEST, RESPONSE)
    assert result.stdout.startswith("--- a/specs/PingRequest.json\n+++ b/specs/PingRequest.json\n@@")
    assert '\n+    { "name": "Agent", "type": "string", "versions": "3+" }\n' in result.stdout
    assert "\n--- a/specs/PingResponse.json\n" in result.stdout
    subprocess.run(["git", "apply"], input=result.stdout.encode(), cwd=project, check=True)
    patched = specs(project)
    write(project)
    run("PingRequest", "--field", "Agent", "--type", "string")
    assert specs(project) == patched


def test_notes(project: Path) -> None:
    text = REQUEST.replace('"int64", "versions": "0+"', '"int64", "versions": "0-2"')
    write(project, text.replace('"fields"', '"latestVersionUnstable": true, "fields"', 1))
    notes = [line for line in run("PingResponse", "--dry-run").stderr.splitlines() if line.startswith("note: ")]
    assert notes == ["note: latestVersionUnstable of PingRequest now means version 3; version 2 counts as released"]
    assert "note: version 3 does not have Nonce, which ended with version 2" in run("PingRequest").stderr


def test_the_draft_dialect(project: Path) -> None:
    head = '"type": "data", "validVersions": "0-1", "versionsWithOptional": "1+"'
    first = f'{{ "name": "Plain", {head},\n  "fields": [ {{ "name": "A", "type": "int8", "versions": "0+" }} ]\n}}\n'
    (project / "specs/Plain.json").write_text(first)
    run("Plain", "--field", "B", "--type", "string", "--tag", "next", "--nullable", "--default", "null")
    second = first.replace('"0-1"', '"0-2"').replace(
        "} ]\n}",
        """} ],
  "optionalFields": [
    { "name": "B", "type": "string", "nullable": true, "tag": "0x0000", "default": "null" }
  ]
}""",
    )
    assert (project / "specs/Plain.json").read_text() == second
    run("Plain", "--field", "C", "--type", "int8", "--tag", "next", "--before", "B")
    assert (
        '[\n    { "name": "C", "type": "int8", "tag": "0x0001" },\n    { "name": "B"'
        in (project / "specs/Plain.json").read_text()
    )
    run("Plain", "--field", "D", "--type", "int8")
    assert '{ "name": "D", "type": "int8", "versions": "4+" }' in (project / "specs/Plain.json").read_text()


def test_a_spec_outside_any_set(project: Path) -> None:
    other = project / "other"
    other.mkdir()
    for name in ("PingRequest", "PingResponse"):
        text = (project / "specs" / f"{name}.json").read_text().replace('"reservedTags": [3]', '"reservedTags": [0]')
        (other / f"{name}.json").write_text(text)
    (other / "broken.json").write_text("{")
    assert "TW609" in run("other/PingRequest.json", "--field", "T", "--type", "int8", "--tag", "9", code=1).stderr
    run("other/PingRequest.json")
    assert (other / "PingResponse.json").read_text() == new(RESPONSE)
    assert specs(project) == (REQUEST, RESPONSE)


def test_links_and_file_modes_are_kept(project: Path) -> None:
    path = project / "specs/PingRequest.json"
    path.rename(project / "elsewhere")
    path.symlink_to(project / "elsewhere")
    (project / "elsewhere").chmod(0o640)
    run("PingRequest")
    assert path.is_symlink()
    assert (project / "elsewhere").read_text() == new(REQUEST)
    assert (project / "elsewhere").stat().st_mode & 0o777 == 0o640


REJECTED = {
    "no such type": ("--field X --type int9", "TW402"),
    "a name that is taken": ("--field Nonce --type int8", "TW302"),
    "a name that is none": ("--field x-y --type int8", "TW401"),
    "a default of another type": ("--field X --type int8 --default 300", "TW503"),
    "no null": ("--field X --type int8 --nullable", "TW406"),
    "a tag that is taken": ("--field X --type int8 --tag 0", "TW608"),
    "a tag that is retired": ("--field X --type int8 --tag 1", "TW610"),
    "no such struct": ("--field X --type int8 --in Host", "the message has no field 'Host'; did you mean 'Hosts'?"),
    "no struct": ("--field X --type int8 --in Nonce", "Nonce has type int64, but a field can only be added to a"),
    "no such neighbour": ("--field X --type int8 --after Nonc", "no field 'Nonc' in `fields`; did you mean 'Nonce'?"),
    "no such neighbour there": ("--field X --type int8 --in Hosts --after Nonce", "Hosts has no field 'Nonce'"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_rejected_input(project: Path, case: str) -> None:
    words, expected = REJECTED[case]
    for dry in ([], ["--dry-run"]):
        result = run("PingRequest", *words.split(), *dry, code=1)
        assert result.stdout == "" and expected in result.stderr
        assert specs(project) == (REQUEST, RESPONSE)


USAGE = {
    "no such message": ("Pong", "no spec set has a file Pong.json"),
    "a slip": ("PingReqest", "did you mean 'PingRequest'?"),
    "no such file": ("specs/Pong.json", "specs/Pong.json can't be read: No such file or directory"),
    "no such folder": ("specs/PingRequest.json/Pong.json", "can't be read: Not a directory"),
    "a folder": ("specs", "specs is a directory; give a file"),
    "a type without a field": ("PingRequest --type int8", "--type describes a field"),
    "a place without a field": ("PingRequest --in Hosts", "--in describes a field"),
    "a field without a type": ("PingRequest --field X", "--type TYPE"),
    "two places": ("PingRequest --field X --type int8 --before Nonce --after Nonce", "--before or --after, not both"),
    "no tag": ("PingRequest --field X --type int8 --tag -1", "is not a tag"),
    "a tag beyond any": ("PingRequest --field X --type int8 --tag " + "9" * 5000, "is not a tag"),
    "no revision": ("PingRequest --against main", "git"),
}


@pytest.mark.parametrize("case", USAGE)
def test_wrong_usage(project: Path, case: str) -> None:
    words, expected = USAGE[case]
    assert expected in " ".join(run(*words.split(), code=2).stderr.split())
    assert specs(project) == (REQUEST, RESPONSE)


OPTIONAL = {
    "the next tag": ("Rack --type string", '"versions": "1+", "tag": 2, "taggedVersions": "1+" }'),
    "a tag": ("Rack --type string --tag 9", '"tag": 9, "taggedVersions": "1+"'),
    "in a struct": ("Rack --type string --in Hosts --nullable --default null", '"nullableVersions": "1+", "tag": 0, '),
}


@pytest.mark.parametrize("case", OPTIONAL)
def test_an_optional_field_needs_no_version(project: Path, case: str) -> None:
    words, entry = OPTIONAL[case]
    stderr = tagwire_result("add-field", "PingRequest", "--field", *words.split(), code=0).stderr
    assert stderr.startswith("PingRequest has a new field Rack, from version 1: ")
    request, response = specs(project)
    assert entry in request and '"validVersions": "0-2"' in request and response == RESPONSE


def test_the_next_tag_has_several_digits(project: Path) -> None:
    file = project / "specs/PingRequest.json"
    for tag in (10, 11):
        field = ("--field", f"Rack{tag}", "--type", "string")
        words = (*field, "--tag", "10") if tag == 10 else field
        tagwire_result("add-field", "PingRequest", *words, code=0)
        assert f'"name": "Rack{tag}", "type": "string", "versions": "1+", "tag": {tag}, ' in file.read_text()


def test_an_optional_field_needs_flexible_versions_and_a_free_tag(project: Path) -> None:
    field = ("--field", "Rack", "--type", "string")
    assert "PingRequest" in tagwire_result("add-field", "PingRequest", *field, "--tag", "0", code=1).stderr
    assert "--field NAME" in tagwire_result("add-field", "PingRequest", "--tag", "5", code=2).stderr
    given = REQUEST.replace('"[]Host", "versions": "0+"', '"[]Host", "versions": "0"'), RESPONSE.replace(
        '"1+"', '"none"'
    )
    write(project, *given)
    assert "has no flexible versions" in tagwire_result("add-field", "PingResponse", *field, code=1).stderr
    for command in ("add-field", "add-version"):
        result = tagwire_result(command, "PingRequest", *field, "--in", "Hosts", code=1)
        assert "+, but Host only in 0; it is never written" in result.stderr
    assert specs(project) == given


def test_a_message_of_two_sets_must_be_named_by_its_file(project: Path) -> None:
    with (project / "pyproject.toml").open("a") as settings:
        settings.write('[[tool.tagwire.sets]]\nspecs = "more"\npackage = "more"\n')
    (project / "more").mkdir()
    (project / "more/PingRequest.json").write_text(REQUEST)
    error = " ".join(run("PingRequest", code=2).stderr.split())
    assert "give the path of one: specs/PingRequest.json, more/PingRequest.json" in error


VERSION_0 = '"validVersions": "0", "flexibleVersions": "none"'
OTHERS = {
    "a record format": ('"type": "format", "format": "odd", "fields": []', "a record format has no versions"),
    "a register": ('"type": "register", "keys": "int16", "entries": []', "got the spec of a register"),
    "an API that is gone": ('"type": "request", "apiKey": 1, "validVersions": "none"', "its API was removed"),
    "a coordinator key": ('"type": "coordinator-key", "apiKey": 1, ' + VERSION_0, "is a coordinator key"),
    "no spec": ('"type"', "TW103"),
    "the highest version": ('"type": "data", ' + VERSION_0.replace('"0"', '"0-32766"'), "TW202"),
    "fields that are null": ('"type": "data", "fields": null, ' + VERSION_0, "json:1:33: `fields` is not a list"),
}


@pytest.mark.parametrize(("keys", "expected"), OTHERS.values(), ids=OTHERS)
def test_messages_without_a_next_version(project: Path, keys: str, expected: str) -> None:
    text = f'{{"name": "Odd", {keys}}}'
    (project / "specs/Odd.json").write_text(text)
    assert expected in run("Odd", "--field", "X", "--type", "int8", code=1).stderr
    assert (project / "specs/Odd.json").read_text() == text


def test_request_and_response_with_different_versions_are_rejected(project: Path) -> None:
    write(project, new(REQUEST))
    result = run("PingRequest", code=1)
    assert "PingResponse has versions 0-2, but PingRequest has 0-3; give both the same versions first" in result.stderr
    assert specs(project)[1] == RESPONSE


@pytest.mark.parametrize("by_git", [False, True])
def test_released_versions_and_tags_are_not_reused(project: Path, by_git: bool) -> None:
    old = '{ "name": "Old", "type": "int16", "versions": "3+" }'
    tagged = '{ "name": "T", "type": "int8", "versions": "1+", "taggedVersions": "1+", "tag": 5 }'
    released = new(REQUEST).replace("// any number\n", f"{old},\n").replace('"tag": 0 }', f'"tag": 0 }}, {tagged}')
    write(project, released, new(RESPONSE))
    words: list[str] = []
    if by_git:
        commit(project)
        words = ["--against", "HEAD"]
    else:
        with (project / "pyproject.toml").open("a") as settings:
            settings.write('lock = "lock.json"\n')
        tagwire_result("lock", code=0)
    write(project)
    result = run("PingRequest", *words, code=1)
    assert "the new version would change released versions:" in result.stderr
    assert "PingRequest 3: the field was removed from this version (TW905)" in result.stderr
    result = run("PingRequest", "--field", "U", "--type", "bool", "--tag", "5", *words, code=1)
    assert "tag 5 was t (int8) and is now u (bool) (TW911)" in result.stderr
    assert specs(project) == (REQUEST, RESPONSE)
    write(project, released, new(RESPONSE))
    run("PingRequest", *words)
