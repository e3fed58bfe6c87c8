import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from command import rejected, tagwire_result
from command_paths import GROUPS
from native_engine import in_use

from tagwire.records import Record, build
from tagwire_cli.app import app
from tagwire_cli.command_table import SECTIONS

JSON = ("json", "tagwire.message.json")
HEAVY = ("black", "jinja2", "jsonschema", "rich", "tagwire_messages", "tagwire_workbench.browsing", "textual")


def listed(text: str) -> list[str]:
    rows = text.partition("Show this message and exit.\n")[2].splitlines()
    return [row.split()[0] for row in rows if row.startswith("  ") and row[2] != " " and not row.endswith("docs")]


def test_help_names_every_command_in_sections() -> None:
    done = tagwire_result("--help", code=0)
    assert listed(done.stdout) == list(app.table)
    titles = list(SECTIONS)
    assert [line[:-1] for line in done.stdout.splitlines() if line[:-1] in titles] == titles


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_alone_prints_its_help(group: str) -> None:
    assert tagwire_result(group, code=2).stderr == tagwire_result(group, "--help").stdout


@pytest.mark.parametrize("words", [[], *([group] for group in GROUPS)])
@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_help_cuts_no_summary(words: list[str], columns: str) -> None:
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": columns}, terminal_width=int(columns))
    assert done.exit_code == 0
    assert listed(done.stdout) and "..." not in done.stdout.partition("Options:")[2]


@pytest.mark.parametrize("name", app.table)
def test_every_command_explains_itself_with_an_example(name: str) -> None:
    done = tagwire_result(name, "-h", code=0)
    assert len(done.stdout.splitlines()) > 6
    assert name == "engine" or f"tagwire {name}" in done.stdout.partition("Usage:")[2].partition("\n")[2]


@pytest.mark.parametrize("words", [["--help"], ["browse", "--help"], ["explain", "--help"]])
def test_help_loads_nothing_slow(words: list[str]) -> None:
    script = (
        "import sys; from click.testing import CliRunner; from tagwire_cli.app import app\n"
        f"assert CliRunner().invoke(app, {words!r}).exit_code == 0\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@in_use
@pytest.mark.parametrize(
    ("words", "unneeded"),
    [
        (["decode", "LeaveGroupRequest", "0"], {*JSON, "base64", "pathlib", "tagwire_messages.metadata_request"}),
        (["log", "stat", "alpha-0"], {"importlib.util", "json"}),
        (["log", "verify", "alpha-0"], {"importlib.util", "json"}),
        (["log", "stat", "missing"], {"tagwire_generator"}),
    ],
)
def test_commands_load_only_what_they_need(words: list[str], unneeded: set[str], tmp_path: Path) -> None:
    partition = tmp_path / "alpha-0"
    partition.mkdir()
    (partition / f"{0:020}.log").write_bytes(build([Record(0, 0, None, b"v")]).encode())
    loaded = loaded_by(words, tmp_path)
    assert {f"tagwire_cli.commands.{words[0]}", "click"} <= loaded
    assert not loaded & {"click.shell_completion", *unneeded}


@in_use
def test_settings_load_only_what_they_need(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tagwire]\n")
    loaded = loaded_by(["decode", "LeaveGroupRequest", "0"], tmp_path)
    assert "tagwire_generator.project.settings" in loaded
    unneeded = {"json", "tagwire_generator.problems"}
    unneeded |= {f"tagwire_generator.project.{name}" for name in ("exemptions", "spec_files")}
    assert not loaded & unneeded


def loaded_by(words: list[str], folder: Path) -> set[str]:
    """Run a command in a new process, with a LeaveGroupRequest as its input. Return the modules that it loads."""
    script = (
        "import sys; before = set(sys.modules); from tagwire_cli.__main__ import main\n"
        "try: main()\n"
        "finally: print(*(set(sys.modules) - before), file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, *words]
    done = subprocess.run(command, input=bytes.fromhex("00016700016d"), capture_output=True, cwd=folder)
    return set(done.stderr.decode().split())


@pytest.mark.parametrize("words", [["--version"], ["log", "verify", "."], ["messages"], ["nonsense"]])
def test_short_commands_collect_no_garbage(words: list[str], tmp_path: Path) -> None:
    (tmp_path / f"{0:020}.log").touch()
    script = (
        "import gc, sys; from tagwire_cli.__main__ import main\n"
        "before = gc.get_stats()\n"
        "try: main()\n"
        "finally: print(gc.get_stats() == before, gc.get_freeze_count() > 0, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == "True True"


def test_a_misspelled_command() -> None:
    for words, near in ((["genrate"], "generate"), (["log", "salvge"], "salvage")):
        assert f"did you mean {near!r}?" in tagwire_result(*words, code=2).stderr
    assert tagwire_result("frobnicate").stderr.splitlines()[-1].startswith("Error: No such command 'frobnicate'; see `")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["decode"], "`tagwire explain` takes hex as an argument"),
        (["decode", "LeaveGroupRequest", "0"], "`tagwire explain` takes hex as an argument"),
        (["get"], "`tagwire explain` takes hex as an argument"),
        (["get", "LeaveGroupRequest"], "expected a version number, got '0000"),
        (["engine"], "Got unexpected extra argument"),
        (["log", "dump"], "can't be read: File name too long"),
        (["add-version"], "no spec set has a file 0000"),
    ],
)
def test_pasted_hex_may_be_longer_than_a_file_name(words: list[str], text: str) -> None:
    rejected(tagwire_result(*words, "00" * 200), text, code=2)


@pytest.mark.parametrize(
    ("module", "words", "extra"),
    [
        ("jinja2", ["generate"], "generate"),
        ("black", ["generate"], "generate"),
        ("jsonschema", ["validate", "abuot.json"], "generate"),  # imported only if a spec is invalid
        ("textual", ["browse", "script.yaml"], "browse"),
        ("pygls", ["lsp"], "lsp"),
        ("lsprotocol", ["lsp"], "lsp"),
        ("yaml", ["mock", "serve", "script.yaml"], "mock"),
        ("jsonschema", ["mock", "serve", "script.yaml"], "mock"),
    ],
)
def test_a_missing_extra_is_named(tmp_path: Path, module: str, words: list[str], extra: str) -> None:
    spec = '{"type": "data", "name": "Foo", "validVersions": "0", "flexibleVersions": "none"}'
    (tmp_path / "message_specs").mkdir()
    (tmp_path / "message_specs" / "FooRequest.json").write_text(spec)
    (tmp_path / "abuot.json").write_text(spec.replace('"type"', '"abuot": "a test", "type"'))
    (tmp_path / "script.yaml").write_text("rules: []\n")
    # None in sys.modules makes the import fail, as if the module were not installed.
    script = f"import sys; sys.modules[{module!r}] = None; sys.argv = ['tagwire', *{words}]\n"
    command = [sys.executable, "-c", script + "from tagwire_cli.__main__ import main; main()"]
    done = subprocess.run(command, cwd=tmp_path, input="", capture_output=True, text=True, check=False)
    expected = f"tagwire: {module} is not installed; install it with: pip install 'tagwire[{extra}]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", expected)


def test_ctrl_c_while_modules_are_imported_has_no_traceback() -> None:
    script = """
import sys
class Interrupted:
    def __getattr__(self, name): raise KeyboardInterrupt
sys.modules["tagwire_cli.app"] = Interrupted()
from tagwire_cli.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "\nAborted!\n")


def test_python_m_is_the_same_command() -> None:
    for words in (["--version"], ["-V"]):  # these options don't load click
        line = [sys.executable, "-m", "tagwire_cli", *words]
        shown = subprocess.run(line, capture_output=True, text=True, check=True).stdout
        assert shown == CliRunner().invoke(app, words, prog_name="tagwire").stdout
        assert shown.startswith("tagwire, version 0.1.0")


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_problems_on_a_terminal(tmp_path: Path, no_color: str, coloured: bool) -> None:
    from terminal import on_terminal

    (tmp_path / "Foo.json").write_text("{")
    status, shown = on_terminal("validate", str(tmp_path / "Foo.json"), NO_COLOR=no_color)
    assert status == 1
    assert ("\x1b[" in shown) is coloured
    assert "TW103" in shown
