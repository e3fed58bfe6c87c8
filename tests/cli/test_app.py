"""`tagwire` itself: its help, its speed, its errors, and what a missing extra says."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from command_paths import GROUPS

import tagwire
import tagwire_cli
from tagwire_cli.app import COMMANDS, app
from tagwire_cli.sections import SECTIONS

HEAVY = ("black", "jinja2", "jsonschema", "lark", "rich", "tagwire_messages")


def listed(text: str) -> list[str]:
    """The commands that a help lists: the first words of rows, below the options."""
    rows = text.partition("Show this message and exit.\n")[2].splitlines()
    return [row.split()[0] for row in rows if row.startswith("  ") and row[2] != " "]


def test_help_names_every_command_in_sections() -> None:
    done = CliRunner().invoke(app, ["--help"])
    assert done.exit_code == 0
    assert listed(done.stdout) == list(COMMANDS)
    titles = [section.title for section in SECTIONS]
    assert [line[:-1] for line in done.stdout.splitlines() if line[:-1] in titles] == titles


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_alone_prints_its_help(group: str) -> None:
    done = CliRunner().invoke(app, [group])
    assert done.exit_code == 2
    assert done.stderr == CliRunner().invoke(app, [group, "--help"]).stdout


@pytest.mark.parametrize("words", [[], *([group] for group in GROUPS)])
@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_help_cuts_no_summary(words: list[str], columns: str) -> None:
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": columns}, terminal_width=int(columns))
    assert done.exit_code == 0
    assert listed(done.stdout) and "..." not in done.stdout.partition("Options:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(name: str) -> None:
    done = CliRunner().invoke(app, [name, "-h"])
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) > 6
    assert name == "engine" or f"tagwire {name}" in done.stdout.partition("Usage:")[2].partition("\n")[2]


def test_help_loads_nothing_slow() -> None:
    script = (
        "import sys; from click.testing import CliRunner; from tagwire_cli.app import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_misspelled_command() -> None:
    for words, near in ((["genrate"], "generate"), (["log", "salvge"], "salvage")):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert f"did you mean {near!r}?" in done.stderr
    done = CliRunner().invoke(app, ["frobnicate"])
    assert done.stderr.splitlines()[-1].startswith("Error: No such command 'frobnicate'; see `")


@pytest.mark.parametrize(("module", "extra"), [("click", "cli,generate"), ("lark", "generate"), ("black", "generate")])
def test_a_missing_extra_is_named(tmp_path: Path, module: str, extra: str) -> None:
    specs = tmp_path / "message_specs"
    specs.mkdir()
    (specs / "FooRequest.json").write_text(
        '{"type": "data", "name": "Foo", "validVersions": "0", "flexibleVersions": "none"}'
    )
    # None in sys.modules: importing it fails as if it were not installed.
    script = f"import sys; sys.modules[{module!r}] = None; sys.argv = ['tagwire', 'generate']\n"
    script += "from tagwire_cli.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"tagwire: {module} is missing; install it with: pip install 'tagwire[{extra}]'\n"


@pytest.mark.parametrize("module", ["pygls", "lsprotocol"])
def test_the_extra_of_the_language_server_is_named(module: str) -> None:
    script = f"import sys; sys.modules[{module!r}] = None; sys.argv = ['tagwire', 'lsp']\n"
    script += "from tagwire_cli.__main__ import main; main()"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"tagwire: {module} is missing; install it with: pip install 'tagwire[lsp]'\n"


def test_the_extra_of_mock_peers_is_named(tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text("rules: []\n")
    script = "import sys; sys.modules['yaml'] = None; sys.argv = ['tagwire', 'mock', 'serve', 'script.yaml']\n"
    script += "from tagwire_cli.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tagwire: yaml is missing; install it with: pip install 'tagwire[mock]'\n"


def without_click(*words: str, module: str = "tagwire_cli") -> "subprocess.CompletedProcess[str]":
    """`python -m` with no third-party library to be found, as after `pip install tagwire`."""
    places = [Path(tagwire.__file__).parents[1], Path(tagwire_cli.__file__).parents[1]]
    script = (
        f"import sys, runpy; sys.path[:0] = {[str(place) for place in places]!r}; sys.argv = {['tagwire', *words]!r}\n"
        f"runpy.run_module({module!r}, run_name='__main__', alter_sys=False)"
    )
    # -S: no site-packages, so what is not in the standard library is missing for real.
    return subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["tagwire", "tagwire_cli"])
@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("help",), ("help", "decode")])
def test_help_without_any_extra_says_which_extra_brings_what(words: tuple[str, ...], module: str) -> None:
    done = without_click(*words, module=module)
    assert (done.returncode, done.stderr) == (0, "")
    for section in SECTIONS:
        assert f"{section.title}: pip install 'tagwire[{section.extras}]'" in done.stdout
    assert set(COMMANDS) <= set(done.stdout.replace(",", " ").split())
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_extras_of_the_help_are_those_of_the_project() -> None:
    text = without_click().stdout
    known = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(known["project"]["optional-dependencies"])
    named = {extra for section in SECTIONS for extra in section.extras.split(",")}
    named |= {line.split()[0] for line in text.partition("Other extras:\n")[2].partition("\n\n")[0].splitlines()}
    assert named == extras - {"test", "dev"}


@pytest.mark.parametrize(
    ("words", "code", "printed"),
    [
        (("--version",), 0, f"tagwire, version {tagwire.__version__}\n"),
        (("engine",), 0, ("native\n", "python\n")),
        (("generate",), 2, "tagwire: click is missing; install it with: pip install 'tagwire[cli,generate]'\n"),
        (("decode", "--help"), 2, "tagwire: click is missing; install it with: pip install 'tagwire[cli]'\n"),
        (("frobnicate",), 2, "tagwire: click is missing; install it with: pip install 'tagwire[cli]'\n"),
    ],
)
def test_what_runs_without_any_extra(words: tuple[str, ...], code: int, printed: str | tuple[str, ...]) -> None:
    done = without_click(*words)
    assert done.returncode == code
    assert done.stdout + done.stderr in ([printed] if isinstance(printed, str) else printed)


def test_python_m_is_the_same_command() -> None:
    line = [sys.executable, "-m", "tagwire_cli", "--version"]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout.startswith("tagwire, version ")


def test_colour_is_for_terminals_without_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    from tagwire_cli.output.diagnostics import is_coloured

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert is_coloured(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not is_coloured(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not is_coloured(Terminal())


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_problems_on_a_terminal(tmp_path: Path, environment: dict[str, str], coloured: bool) -> None:
    import os
    import pty

    (tmp_path / "Foo.json").write_text("{")
    leader, follower = pty.openpty()
    clean = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    line = [sys.executable, "-m", "tagwire_cli", "validate", "Foo.json"]
    env = clean | {"TERM": "xterm"} | environment
    done = subprocess.run(line, cwd=tmp_path, stdout=follower, stderr=subprocess.PIPE, env=env, check=False)
    os.close(follower)
    shown = os.read(leader, 10_000).decode()
    os.close(leader)
    assert done.returncode == 1
    assert ("\x1b[" in shown) is coloured
    assert "TW103" in shown
