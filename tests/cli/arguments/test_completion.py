import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from command import tagwire_result
from command_paths import GROUPS
from spec_projects import make_project

from tagwire_cli.app import app

SCRIPTS = str(Path(sys.executable).parent)


def shell(name: str, code: str, cwd: Path | None = None) -> str:
    if shutil.which(name) is None:
        pytest.skip(f"needs {name}")
    environment = os.environ | {"PATH": os.pathsep.join((SCRIPTS, os.environ.get("PATH", os.defpath)))}
    done = subprocess.run([name, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def offered(line: str) -> set[str]:
    words = line.split(" ")
    environment = {"_TAGWIRE_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = CliRunner().invoke(app, [], prog_name="tagwire", env=environment)
    assert done.stderr == ""
    found = [each.partition(",") for each in done.stdout.split("\n") if each]
    return {value if kind == "plain" else f"<{kind}>" for kind, _, value in found}


OFFERS = [
    ("tagwire ", {"init", "decode", "log", "completion"}),
    ("tagwire log sal", {"salvage"}),
    ("tagwire show LeaveG", {"LeaveGroupRequest", "LeaveGroupResponse"}),
    ("tagwire show leaveg", {"LeaveGroupRequest", "LeaveGroupResponse"}),
    ("tagwire show LeaveGroupRequest --version ", {"0", "1", "2", "3", "4", "5"}),
    ("tagwire diff LeaveGroupRequest ", {"0", "5"}),
    ("tagwire diff LeaveGroupRequest 1 ", {"0", "5"}),
    ("tagwire encode LeaveGroupReq", {"LeaveGroupRequest"}),
    ("tagwire decode LeaveGroupRequest ", {"0", "5"}),
    ("tagwire decode LeaveGroupRequest 0 ", {"<file>"}),
    ("tagwire decode --frame re", {"request", "response"}),
    ("tagwire decode --frame request ", {"<file>"}),
    ("tagwire decode --frame response LeaveG", {"LeaveGroup"}),
    ("tagwire decode --frame response LeaveGroup ", {"0", "5"}),
    ("tagwire decode --frame response --requests sent.bin ", {"<file>"}),
    ("tagwire decode --limit el", {"elements="}),
    ("tagwire decode --package tagwire_m", {"tagwire_messages"}),
    ("tagwire encode --frame request LeaveGroupReq", {"LeaveGroupRequest"}),
    ("tagwire explain --response LeaveG", {"LeaveGroup"}),
    ("tagwire explain --format ", {"auto", "v2"}),
    ("tagwire convert v", {"v0", "v3-zigzag"}),
    ("tagwire convert v2 --format k", {"kip87"}),
    ("tagwire log dump --format k", {"kip87"}),
    ("tagwire whatif --to v", {"v3"}),
    ("tagwire messages --kind re", {"request", "response"}),
    ("tagwire messages --component tr", {"transaction"}),
    ("tagwire rule tw60", {"TW608"}),
    ("tagwire rule TWL10", {"TWL101"}),
    ("tagwire validate --format ", {"text", "json", "github", "sarif"}),
    ("tagwire validate mess", {"<file>", "mess"}),
    ("tagwire completion ", {"bash", "zsh", "fish"}),
]


@pytest.mark.parametrize(("line", "some"), OFFERS, ids=[line for line, _ in OFFERS])
def test_offers(line: str, some: set[str]) -> None:
    found = offered(line)
    assert found & some, found
    last = line.rpartition(" ")[2]
    assert all(each.lower().startswith(last.lower()) for each in found if each != "<file>")


NOTHING = ["show Nosuch", "decode Nosuch ", "show --version ", "show --package nosuch L", "rule XX"]


@pytest.mark.parametrize("line", [*NOTHING, "decode RecordBatchV2 "])
def test_nothing_to_offer(line: str) -> None:
    assert offered(f"tagwire {line}") <= {"<file>", "Nosuch"}


@pytest.mark.usefixtures("own_modules")
def test_messages_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_project(tmp_path))
    tagwire_result("generate", code=0)
    assert offered("tagwire show P") == {"PingRequest", "PingResponse"}
    assert offered("tagwire generate --set ") == {"pings"}
    (tmp_path / "pyproject.toml").write_text("[tool.tagwire]\nset = 7\n")
    assert offered("tagwire show P") == set(), "broken settings are told by commands, not here"


def test_every_command_is_offered() -> None:
    assert offered("tagwire ") == set(app.table)
    for group, names in GROUPS.items():
        assert offered(f"tagwire {group} ") == set(names)


BASH = """
source <(tagwire completion bash)
complete -p tagwire
COMP_WORDS=({words}); COMP_CWORD={at}; COMPREPLY=()
_tagwire_completion tagwire
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "at", "expected"),
    [
        ("tagwire expl", 1, ["explain"]),
        ("tagwire decode LeaveG", 2, ["LeaveGroupRequest", "LeaveGroupResponse"]),
        ("tagwire rule TW60", 2, ["TW601", "TW602", "TW603", "TW604", "TW605", "TW606", "TW607", "TW608", "TW609"]),
    ],
)
def test_bash(words: str, at: int, expected: list[str]) -> None:
    first, *found = shell("bash", BASH.format(words=words, at=at)).splitlines()
    assert first == "complete -o nosort -F _tagwire_completion tagwire"
    assert found == expected


def test_zsh() -> None:
    setup = 'autoload -U compinit; compinit -u -D; eval "$(tagwire completion zsh)"; print $_comps[tagwire]; '
    command = "env COMP_WORDS='tagwire expl' COMP_CWORD=1 _TAGWIRE_COMPLETE=zsh_complete tagwire"
    assert shell("zsh", setup + command).splitlines()[:3] == ["_tagwire_completion", "plain", "explain"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tagwire decode LeaveG", ["LeaveGroupRequest", "LeaveGroupResponse"]),
        ("tagwire explain ./spec", ["./specs/"]),
        ("tagwire expl", ["explain\tPrint every byte with its field, type and..."]),
    ],
)
def test_fish(tmp_path: Path, line: str, expected: list[str]) -> None:
    (tmp_path / "specs").mkdir()
    found = shell("fish", f"tagwire completion fish | source; complete -C '{line}'", tmp_path)
    assert found.splitlines() == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fish", "_TAGWIRE_COMPLETE=fish_complete"),
        ("zsh", "_TAGWIRE_COMPLETE=zsh_complete"),
        ("zsh", 'compdef _tagwire_completion tagwire\n    _tagwire_completion "$@"'),  # needed for the second Tab
    ],
)
def test_scripts_of_shells_that_may_not_be_here(name: str, text: str) -> None:
    assert text in tagwire_result("completion", name).stdout


def test_other_shells_are_wrong_usage() -> None:
    assert "'tcsh' is not one of" in tagwire_result("completion", "tcsh", code=2).stderr
