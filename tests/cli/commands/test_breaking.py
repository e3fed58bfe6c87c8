import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_result as run
from spec_projects import commit, edit_spec, git, read_tree, spec, write_spec

SPECS = Path("message_specs")
breaking = partial(run, "breaking")


def findings(*arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(breaking(*arguments, "--output-format", "json").stdout)
    return found


def rules(*arguments: str) -> list[str]:
    return [found["rule"] for found in findings(*arguments)]


def copy_specs(project: Path, name: str = "old") -> str:
    folder = project / name
    folder.mkdir()
    for path in (project / SPECS).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return name


def add_settings(project: Path, text: str) -> None:
    with (project / "pyproject.toml").open("a") as settings:
        settings.write(text)


@pytest.fixture
def broken(project: Path) -> str:
    """Change a type. Return the folder of the specs as they were before."""
    old = copy_specs(project)
    edit_spec(project, "PingRequest", "int64", "int32")
    return old


EXCEPTION = '\n[[tool.tagwire.exceptions]]\nrule = "TW903"\nmessage = "PingRequest"\nreason = "for a test"\nuntil = '


def test_nothing_breaks(project: Path) -> None:
    old = copy_specs(project)
    write_spec(project, "PingRequest", validVersions="0-2")
    done = breaking(old, "message_specs")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "no breaking changes in 2 messages\n")
    assert findings(old, "message_specs") == []


def test_a_break_as_text(broken: str) -> None:
    done = breaking(broken, "message_specs", code=1)
    first_line, line, caret, *proof = done.stdout.splitlines()
    assert first_line == (
        "message_specs/PingRequest.json:10:15: wire TW903: PingRequest 0-1: nonce: "
        "the type was int64 and is now int32"
    )
    assert line.strip() == '"type": "int32",' and caret.index("^") == line.index('"int32"')
    assert [" ".join(each.split()) for each in proof] == [
        'proof in version 1: {"nonce": 1}',
        "old bytes: 00 00 00 00 00 00 00 01 00",
        "new bytes: 00 00 00 01 00",
        "the old reader rejects the new bytes:",
        "offset bytes path type value",
        "! nonce error at byte 0: found 5 bytes left, expected 8 bytes",
        "0 00 00 00 01 00 . not read",
    ]
    assert done.stderr == "1 wire-breaking change in 2 messages\n"


def test_a_break_as_json(broken: str) -> None:
    [found] = findings(broken, "message_specs")
    expected = {"rule": "TW903", "severity": "wire", "message_name": "PingRequest", "versions": "0-1", "path": "nonce"}
    assert found.items() >= (expected | {"message": "the type was int64 and is now int32"}).items()
    assert (found["file"], found["line"], found["column"]) == ("message_specs/PingRequest.json", 10, 15)
    assert found["proof"] == {
        "version": 1,
        "value": {"nonce": 1},
        "old": "000000000000000100",
        "new": "0000000100",
        "reader": "old",
        "error": "PingRequest v1: nonce at byte 0: found 5 bytes left, expected 8 bytes",
        "reads": None,
    }


def test_findings_as_annotations(project: Path) -> None:
    old = copy_specs(project)
    write_spec(project, "PingRequest", validVersions="1-2")
    edit_spec(project, "PingResponse", "Nonce", "Number")
    (project / "message_specs" / "PingResponse.json").rename(project / "message_specs" / "a,b:c%.json")
    done = breaking(old, "message_specs", "--output-format", "github", code=0)
    assert done.stdout.splitlines() == [
        "::notice file=message_specs/PingRequest.json,line=5,col=20,title=policy TW960"
        "::PingRequest 0: the versions were 0-1 and are now 1-2",
        "::warning file=message_specs/a%2Cb%3Ac%25.json,line=9,col=15,title=source TW941"
        "::PingResponse 0-1: number: the field was renamed from nonce to number",
    ]


def test_removed_message_has_no_position_in_the_new_specs(project: Path) -> None:
    old = copy_specs(project)
    for name in ("PingRequest", "PingResponse"):
        (project / SPECS / f"{name}.json").unlink()
    write_spec(project, "PongRequest", apiKey=8)
    done = breaking(old, "message_specs", "--fail-on", "policy", code=1)
    assert done.stdout.splitlines()[0] == (
        "old/PingRequest.json:4:11: policy TW961: PingRequest 0-1: PingRequest no longer has a spec"
    )


@pytest.mark.parametrize(("fail_on", "status"), [(None, 0), ("wire", 0), ("semantic", 0), ("source", 1), ("policy", 1)])
def test_failing_severities(project: Path, fail_on: str | None, status: int) -> None:
    old = copy_specs(project)
    edit_spec(project, "PingRequest", "Nonce", "Number")
    options = ["--fail-on", fail_on] if fail_on else []
    done = breaking(old, "message_specs", *options)
    assert done.exit_code == status
    assert ("with `--fail-on source`, they do" in done.stderr) == (status == 0)


def test_two_files_are_compared_whatever_their_names(project: Path) -> None:
    write_spec(project, "PongRequest", apiKey=9, fields=[])
    pair = ("message_specs/PingRequest.json", "message_specs/PongRequest.json")
    assert rules(*pair) == ["TW905", "TW922", "TW940"]
    summary = "1 wire-breaking change, 1 semantic change, 1 source-breaking change in 2 messages\n"
    assert breaking(*pair).stderr == summary


@pytest.mark.parametrize("broken", ["old", "message_specs"])
@pytest.mark.parametrize("as_file", [True, False])
def test_a_spec_that_is_not_valid(project: Path, broken: str, as_file: bool) -> None:
    copy_specs(project)
    path = project / broken / "PingRequest.json"
    path.write_text(path.read_text().replace("int64", "int65"))
    edit_spec(project, "PingResponse", "int64", "int32")
    pair = [f"{side}/PingRequest.json" if as_file else side for side in ("old", "message_specs")]
    error, *others = findings(*pair)
    assert (error["rule"], error["severity"], error["message_name"]) == ("TW402", "error", "PingRequest")
    assert (error["file"], error["line"], error["proof"]) == (f"{broken}/PingRequest.json", 10, None)
    assert [other["message_name"] for other in others] == ([] if as_file else ["PingResponse"])
    done = breaking(*pair, "--fail-on", "wire", code=1)
    assert f"{broken}/PingRequest.json:10:15: error TW402: unknown type 'int65'" in done.stdout


def test_options_of_the_set_apply(project: Path) -> None:
    gap = [{"name": "Nonce", "type": "int64", "versions": "1+", "tag": 5, "taggedVersions": "1+"}]
    write_spec(project, "PingRequest", fields=gap)
    old = copy_specs(project)
    assert set(rules(old, "message_specs")) == {"TW609"}
    add_settings(project, "options = { tag_gaps = true }\n")
    assert rules(old, "message_specs") == []


SPECS_TWICE = "message_specs message_specs"
INCOMPLETE = ["", "message_specs", f"{SPECS_TWICE} message_specs", "message_specs nowhere", "- -"]


@pytest.mark.parametrize(
    "arguments",
    [
        *INCOMPLETE,
        f"{SPECS_TWICE}/PingRequest.json",
        "--against HEAD --lock pyproject.toml",
        f"{SPECS_TWICE} --fail-on error",
    ],
)
def test_wrong_usage(project: Path, arguments: str) -> None:
    done = breaking(*arguments.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Error: " in done.stderr or "can't be read" in done.stderr


def test_a_folder_without_specs(project: Path) -> None:
    (project / "empty").mkdir()
    assert "no specs" in breaking("empty", "message_specs", code=1).stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_findings_on_a_terminal(project: Path, broken: str) -> None:
    from terminal import on_terminal

    edit_spec(project, "PingResponse", "Nonce", "Number")
    plain = breaking(broken, "message_specs").output
    _, shown = on_terminal("breaking", broken, "message_specs")
    assert "\x1b[" in shown
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == plain


def test_against_a_revision(project: Path) -> None:
    commit(project)
    assert breaking("--against", "HEAD").exit_code == 0
    edit_spec(project, "PingRequest", "int64", "int32")
    for paths in ([], ["message_specs"], ["message_specs/PingRequest.json"], ["message_specs/PingRequest.json"] * 2):
        assert rules("--against", "HEAD", *paths) == ["TW903"]
    assert rules("--against", "HEAD", "message_specs/PingResponse.json") == []
    git(project, "commit", "-a", "-m", "two")
    assert rules("--against", "HEAD") == []
    assert rules("--against", "HEAD~1") == ["TW903"]


def test_a_spec_that_is_not_valid_in_a_revision(project: Path) -> None:
    edit_spec(project, "PingRequest", "int64", "int65")
    commit(project)
    edit_spec(project, "PingRequest", "int65", "int64")
    [found] = findings("--against", "HEAD")
    assert (found["severity"], found["file"]) == ("error", "HEAD:message_specs/PingRequest.json")


def test_git_errors_are_wrong_usage(project: Path) -> None:
    assert "not a git repository" in breaking("--against", "HEAD", code=2).stderr
    commit(project)
    assert "git has no revision 'release'" in breaking("--against", "release", code=2).stderr
    write_spec(project, "PongRequest", apiKey=8)
    done = breaking("--against", "HEAD", "message_specs/PongRequest.json", code=2)
    assert "is neither a file nor a folder with *.json files at revision HEAD" in done.stderr


def test_new_set_breaks_nothing(project: Path) -> None:
    commit(project)
    (project / SPECS).rename(project / "other_specs")
    edit = (project / "pyproject.toml").read_text().replace("message_specs", "other_specs")
    (project / "pyproject.toml").write_text(edit)
    missing = "other_specs is neither a file nor a folder with *.json files at revision HEAD; its specs count as un"
    assert missing in breaking("--against", "HEAD", code=0).stderr


def test_a_lock_of_the_set(project: Path) -> None:
    add_settings(project, 'lock = "released.json"\n')
    assert "released.json does not exist: nothing in message_specs is released yet" in breaking(code=0).stderr
    assert run("lock", "--check").exit_code == 1
    assert not (project / "released.json").exists()
    done = run("lock")
    assert (done.exit_code, done.stderr) == (0, "released.json written: 2 messages of message_specs\n")
    assert run("lock", "--check").exit_code == 0
    assert run("lock").stderr == "released.json is up to date with message_specs\n"
    assert breaking().exit_code == 0
    edit_spec(project, "PingRequest", "int64", "int32")
    assert rules() == rules("--lock", "released.json") == rules("--lock", "released.json", "message_specs") == ["TW903"]
    assert rules("--lock", "released.json", "message_specs/PingRequest.json") == ["TW903"]
    assert rules("--lock", "released.json", "message_specs/PingResponse.json") == []


def test_lock_rejects_a_breaking_change(project: Path) -> None:
    add_settings(project, 'lock = "released.json"\n')
    run("lock")
    before = (project / "released.json").read_bytes()
    edit_spec(project, "PingRequest", "int64", "int32")
    done = run("lock", code=1)
    assert "wire TW903: PingRequest 0-1" in done.stdout
    assert "nothing was written; use --accept-breaking to release the specs anyway" in done.stderr
    assert (project / "released.json").read_bytes() == before
    assert run("lock", "--accept-breaking").exit_code == 0
    assert breaking().exit_code == 0


def test_lock_accepts_excused_changes(project: Path) -> None:
    add_settings(project, f'lock = "released.json"\n{EXCEPTION}"never"\n')
    run("lock")
    edit_spec(project, "PingRequest", "int64", "int32")
    assert run("lock").exit_code == 0


def test_lock_rejects_invalid_specs(project: Path) -> None:
    edit_spec(project, "PingRequest", "int64", "int65")
    assert "error TW402" in run("lock", "message_specs", "--file", "released.json", "--accept-breaking", code=1).stdout
    assert not (project / "released.json").exists()


def test_dropped_versions_are_kept_by_default(project: Path) -> None:
    arguments = ("lock", "message_specs", "--file", "released.json")
    run(*arguments)

    def write(**changes: Any) -> None:
        for name in ("PingRequest", "PingResponse"):
            write_spec(project, name, **changes)

    write(validVersions="1-2")
    assert run(*arguments).exit_code == 0
    assert '"archive"' in (project / "released.json").read_text()
    write(fields=[])
    assert "TW905" in rules("--lock", "released.json", "message_specs")
    write(validVersions="1-2")
    assert run(*arguments, "--forget").exit_code == 0
    assert '"archive"' not in (project / "released.json").read_text()


def test_sets_without_a_lock_and_other_files_are_reported(project: Path) -> None:
    (project / "bad.json").write_text("{}")
    assert "bad.json: expected a lock file of format 1" in breaking("--lock", "bad.json", code=1).stderr
    add_settings(project, 'lock = "released.json"\n[[tool.tagwire.sets]]\nspecs = "more"\npackage = "more"\n')
    copy_specs(project, "more")
    run("lock")
    done = breaking()
    assert (done.exit_code, done.stderr) == (0, "more has no lock file; skipped\nno breaking changes in 2 messages\n")
    assert breaking("--lock", "released.json").exit_code == 2


INSIDE = ["message_specs", "--forget", "--file", "message_specs/PingRequest.json"]


@pytest.mark.parametrize(
    "arguments",
    [[], ["message_specs"], ["--file", "x.json"], ["nowhere", "--file", "x.json"], ["message_specs", "--bad"], INSIDE],
)
def test_wrong_usage_of_lock(project: Path, arguments: list[str]) -> None:
    before = read_tree(SPECS)
    assert run("lock", *arguments).exit_code == (1 if arguments is INSIDE else 2) and read_tree(SPECS) == before


def test_an_excused_finding(project: Path, broken: str) -> None:
    add_settings(project, f"{EXCEPTION}2999-12-31\n")
    done = breaking(broken, "message_specs")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "1 excused finding in 2 messages\n")
    assert findings(broken, "message_specs") == []
    assert breaking(broken, "message_specs", "--show-excused").stdout == (
        "message_specs/PingRequest.json:10:15: excused until 2999-12-31 TW903: PingRequest 0-1: nonce: "
        "the type was int64 and is now int32\n    reason: for a test\n"
    )


def test_an_exception_that_expired(project: Path, broken: str) -> None:
    add_settings(project, f"{EXCEPTION}2001-12-31\n")
    done = breaking(broken, "message_specs", code=1)
    assert done.stderr == (
        "warning: the exception for TW903 in PingRequest (for a test) expired on 2001-12-31\n"
        "1 wire-breaking change in 2 messages\n"
    )


def test_unneeded_exception_gives_a_warning(project: Path) -> None:
    old = copy_specs(project)
    add_settings(project, f'{EXCEPTION}"never"\n')
    done = breaking(old, "message_specs", code=0)
    assert done.stderr.startswith("warning: the exception for TW903 in PingRequest (for a test) excuses nothing")
    pair = [f"{side}/PingResponse.json" for side in (old, "message_specs")]
    assert breaking(*pair).stderr == "no breaking changes in 1 message\n"


def test_exceptions_without_an_end_must_be_explicit(project: Path, broken: str) -> None:
    add_settings(project, EXCEPTION.removesuffix("until = "))
    assert "`until` is missing" in breaking(broken, "message_specs", code=2).stderr


def test_specs_are_compared_within_their_component(project: Path) -> None:
    for component in ("one", "two"):
        (project / SPECS / component).mkdir()
        text = json.dumps(spec(f"{component.capitalize()}Request"))
        (project / SPECS / component / f"{component.capitalize()}Request.json").write_text(text)
    commit(project)
    path = project / SPECS / "two" / "TwoRequest.json"
    path.write_text(path.read_text().replace("int64", "int32"))
    assert [found["message_name"] for found in findings("--against", "HEAD")] == ["TwoRequest"]


def test_clean_check_is_cached(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    add_settings(project, 'lock = "released.json"\n')
    run("lock", code=0)
    first = breaking()
    with monkeypatch.context() as broken:  # in this block, any attempt to read a spec fails
        broken.setattr("tagwire_generator.evolution.spec_sources.SpecReader.read", None)
        again = breaking()
        assert (again.exit_code, again.stderr) == (first.exit_code, first.stderr) == (0, first.stderr)
        broken.setenv("CI", "true")
        assert breaking().exception is not None
    edit_spec(project, "PingRequest", '"int64"', '"int32"')
    for _ in range(2):
        assert breaking().exit_code == 1
    edit_spec(project, "PingRequest", '"int32"', '"int64"')
    assert breaking().exit_code == 0
