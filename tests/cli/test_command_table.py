import re
from importlib.metadata import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner
from command import rejected
from command_paths import COMMAND_PATHS, command_of

from tagwire_cli.app import app
from tagwire_cli.command_table import DOCUMENTATION, FINE, FOUND, USAGE
from tagwire_cli.commands.spark import command as spark

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXECUTED = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUNS_ELSEWHERE = {"demo", *(f"spark {name}" for name in spark.table)}
"""Commands whose examples are run elsewhere: by `make demo`, or by tests/cli/commands/spark."""


def text_of(name: str) -> str:
    done = CliRunner().invoke(app, [*name.split(), "--help"], prog_name="tagwire", terminal_width=200)
    assert done.exit_code == 0
    return done.stdout


def examples(text: str) -> list[str]:
    block = re.search(r"^  Examples?:\n((?:    .+\n)+)", text, re.MULTILINE)
    assert block, text
    return [line.strip() for line in block[1].splitlines()]


@pytest.mark.parametrize("name", COMMAND_PATHS)
def test_a_summary_examples_and_exit_statuses(name: str) -> None:
    text = text_of(name)
    usage, summary = text.split("\n")[0], text.split("\n")[2]
    assert usage.startswith(f"Usage: tagwire {name} [OPTIONS]")
    assert re.fullmatch(r"  [A-Z].*[.:,;\w]", summary)
    assert any(f"tagwire {name}" in line for line in examples(text))
    assert f"    0  {FINE}\n" in text and f"    2  {USAGE}\n" in text
    assert (f"    1  {FOUND[name]}\n" in text) if name in FOUND else "    1  " not in text


@pytest.mark.parametrize("name", COMMAND_PATHS)
def test_examples_use_existing_options(name: str) -> None:
    known = {flag for param in command_of(name).params for flag in (*param.opts, *param.secondary_opts)}
    for line in examples(text_of(name)):
        for call in re.findall(rf"tagwire {name}(?: [^|]*)?", line):
            words = re.split(r"\s{2,}", call)[0].split()
            assert {word for word in words if word.startswith("--")} <= known, line


@pytest.mark.parametrize("name", COMMAND_PATHS)
def test_documentation_runs_each_command(name: str) -> None:
    if name in RUNS_ELSEWHERE:
        return
    executed = "\n".join(block for page in PAGES for block in EXECUTED.findall(page.read_text(encoding="utf-8")))
    assert re.search(rf"\btagwire {name}\b", executed)


def test_every_table_row_names_a_command() -> None:
    assert set(FOUND) <= set(COMMAND_PATHS)


def test_pages_are_shown_with_the_url_of_the_documentation() -> None:
    url = metadata("tagwire").get_all("Project-URL", [])
    assert f"Documentation, {DOCUMENTATION}" in url and f"Documentation: {DOCUMENTATION}" in text_of("")
    for name in ["log", "spark", *COMMAND_PATHS]:
        assert not re.search(r"(?<!main/)docs/[\w-]+\.md", text_of(name)), name


@pytest.mark.parametrize("words", [[], ["decode"], ["log"], ["log", "dump"]])
def test_help_is_the_same_as_the_option(words: list[str]) -> None:
    by_command = CliRunner().invoke(app, ["help", *words], prog_name="tagwire")
    by_option = CliRunner().invoke(app, [*words, "--help"], prog_name="tagwire")
    assert (by_command.exit_code, by_command.stdout) == (0, by_option.stdout)


NO_SUBCOMMANDS = "tagwire decode has no subcommands; unexpected argument 'x'"


@pytest.mark.parametrize(
    ("words", "text"),
    [("decod", "did you mean 'decode'?"), ("log dmp", "did you mean 'dump'?"), ("decode x", NO_SUBCOMMANDS)],
)
def test_help_of_nothing(words: str, text: str) -> None:
    rejected(CliRunner().invoke(app, ["help", *words.split()], prog_name="tagwire"), text, code=2)
