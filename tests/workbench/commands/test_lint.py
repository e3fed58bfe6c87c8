import json
from functools import partial
from pathlib import Path

import pytest
from command import tagwire_outcome, tagwire_result
from spec_projects import make_project, write_spec

ROOT = Path(__file__).parents[3]
SPECS = ROOT / "message_specs"
KAFKA = ROOT / "message_specs" / "kafka"
SETTINGS = """
[tool.tagwire.lint]
ignore = ["TL3"]
severity = { TL51 = "error", TL5 = "note" }
"""
EXCEPTION = """
[[tool.tagwire.exceptions]]
rule = "TL34"
message = "PingRequest"
path = "racks.room"
reason = "too late to change"
until = %s
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    make_project(tmp_path)
    rack = [{"name": "Room", "type": "string", "versions": "0+"}]
    fields = [
        {"name": "Room", "type": "int32", "versions": "0+"},
        {"name": "Racks", "type": "[]Rack", "versions": "0+", "fields": rack},
    ]
    write_spec(tmp_path, "PingRequest", fields=fields)
    write_spec(tmp_path, "PingResponse", validVersions="0", flexibleVersions="none")
    return tmp_path


lint = partial(tagwire_result, "lint")


def rules(*words: str) -> list[str]:
    return [each["rule"] for each in json.loads(lint(*words, "--json").stdout)]


def settle(project: Path, text: str) -> None:
    file = project / "pyproject.toml"
    file.write_text(file.read_text() + text)


def test_project_is_linted_by_default() -> None:
    assert rules() == rules("message_specs") == ["TL34", "TL51"]


def test_a_finding_has_its_line_and_a_caret() -> None:
    result = lint("message_specs/PingRequest.json")
    assert result.exit_code == 0
    first_line, line, caret = result.stdout.splitlines()
    assert first_line.endswith(": note TL34: Room is string, but int32 in room")
    location = first_line.split(": ")[0].split(":")
    text = Path(location[0]).read_text().splitlines()[int(location[1]) - 1]
    assert line.strip() == text.strip() == '"type": "string",'
    assert line[caret.index("^")] == '"'


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["--select", "TL5"], ["TL51"]),
        (["--select", "TL34,TL4"], ["TL41", "TL42", "TL43", "TL34"]),
        (["--select", "tl34"], ["TL34"]),
        (["--ignore", "TL3"], ["TL51"]),
        (["--ignore", "TL3", "--ignore", "TL51"], []),
        (["--select", "TL34", "--ignore", "TL3"], ["TL34"]),
        (["--select", "TL3", "--ignore", "TL34"], []),
    ],
)
def test_which_rules_run(words: list[str], left: list[str]) -> None:
    assert set(rules("message_specs/PingRequest.json", "message_specs", *words)) == set(left)


def test_documentation_is_looked_for_in_the_tagwire_dialect(project: Path) -> None:
    write_spec(project, "PingRequest", dialect="tagwire")
    assert set(rules("message_specs/PingRequest.json")) == {"TL41", "TL43"}


def test_settings(project: Path) -> None:
    settle(project, SETTINGS)
    result = lint()
    assert result.exit_code == 1 and "error TL51" in result.stdout and "TL34" not in result.stdout
    assert rules("--select", "TL34") == ["TL34"], "what is selected here replaces the settings"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--select", "TW6"], "no rule of `tagwire lint` begins with 'TW6'"),
        (["--ignore", "TL99"], "no rule of `tagwire lint` begins with 'TL99'"),
        ([str(ROOT / "message_specs/registries/kafka")], "has only registers, but lint checks messages"),
    ],
)
def test_wrong_usage(words: list[str], message: str) -> None:
    result = lint(*words)
    assert result.exit_code == 2 and message in " ".join(result.stderr.split()) and not result.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('lint = { selct = ["TL"] }', "no key 'selct'; did you mean 'select'?"),
        ('lint = { select = "TL" }', "`select` is 'TL'; it must be a list"),
        ('lint = { severity = { TL51 = "fatal" } }', "the severity of TL51 is 'fatal'"),
        ('lint = { ignore = ["XY"] }', "begins with 'XY'"),
        ("lint = 3", "write [tool.tagwire.lint]"),
    ],
)
def test_wrong_settings(project: Path, text: str, message: str) -> None:
    (project / "pyproject.toml").write_text(f"[tool.tagwire]\n{text}\n")
    result = lint("message_specs")
    assert result.exit_code == 2 and message in result.stderr


def test_exceptions(project: Path) -> None:
    settle(project, EXCEPTION % '"never"')
    result = lint("message_specs")
    assert "TL34" not in result.stdout and "1 excused finding in 2 specs" in result.stderr
    assert tagwire_result("breaking", "message_specs", "message_specs").stderr.count("excuses nothing") == 0


def test_expired_exception_is_reported(project: Path) -> None:
    settle(project, EXCEPTION % "2020-01-01")
    result = lint("message_specs")
    assert "TL34" in result.stdout and "expired on 2020-01-01" in result.stderr


def test_few_findings_in_kafkas_specs_and_no_errors() -> None:
    found = json.loads(lint(str(KAFKA), "--json").stdout)
    rules = {"TL31", "TL34", "TL53", "TL54", "TL55", "TL61", "TL63", "TL72", "TL81", "TL83"}
    assert {each["rule"] for each in found} == rules
    assert all(each["line"] and each["severity"] != "error" for each in found) and len(found) < 150


def test_lint() -> None:
    code, out, err = tagwire_outcome("lint", str(SPECS / "records"))
    assert code == 0 and out.count("TL03") == 1
    assert err == "1 note in 3 specs\n"
    code, out, _ = tagwire_outcome("lint", "--json", str(SPECS / "drafts" / "smaller_batches" / "RecordBatchV3.json"))
    assert code == 1 and json.loads(out)[0]["rule"] == "TL01"


def test_collide() -> None:
    drafts = SPECS / "drafts"
    code, out, _ = tagwire_outcome("collide", str(drafts / "kip82_int"), str(drafts / "kip87"))
    assert code == 1 and "TL21" in out and "both have version 3 as the newest version of ProduceRequest" in out
    found = tagwire_outcome("collide", str(drafts / "kip87"), str(SPECS / "records" / "MessageV1.json"))
    assert found == (0, "", "no problems in 2 designs\n")
    assert tagwire_outcome("collide", str(drafts / "kip87"))[0] == 2


def test_collide_needs_designs_that_it_can_judge() -> None:
    design, register = str(SPECS / "drafts/kip87"), str(SPECS / "registries/kip82_int")
    for words, message in (
        ([design, design], "give at least two designs, and each design only once"),
        ([design, f"{design}/../kip87"], "give at least two designs"),
        ([design, register], f"{register} has only registers, but collide checks messages and record formats;"),
    ):
        code, out, err = tagwire_outcome("collide", *words)
        assert (code, out) == (2, "") and message in " ".join(err.split())
