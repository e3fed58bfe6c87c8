"""Run every example in README.md and docs/*.md, and compare its output with the output on the page.

    python   runs in one namespace per page; code that uses Spark is skipped if Spark is not available
    sh       runs in bash with this environment's commands; the output includes standard error
    text     is the expected output of the example before it; a line of three dots matches any lines

All examples of a page run in order in one folder, which is empty at first. Blocks in other languages are not run, but
make targets in `console` blocks must exist.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import spark_session

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN_ONLY = {"console", "elisp", "jinja", "json", "lua", "toml", "text", "yaml"}


class Example(NamedTuple):
    location: str
    language: str
    code: str
    expected: str | None


def examples(page: Path) -> Iterator[Example]:
    text = page.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    for number, block in enumerate(blocks):
        location = f"{page.name}:{text.count(chr(10), 0, block.start()) + 1}"
        language = block["language"]
        if language not in ("python", "sh"):
            assert language in SHOWN_ONLY, f"{location}: a block of {language or 'no language'}"
            continue
        after = blocks[number + 1] if number + 1 < len(blocks) else None
        follows = after is not None and after["language"] == "text" and not text[block.end() : after.start()].strip()
        yield Example(location, language, block["code"], after["code"] if after is not None and follows else None)


def run_python(example: Example, namespace: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example.code, example.location, "exec"), namespace)
    return printed.getvalue()


def needs_spark(example: Example) -> bool:
    return example.language == "python" and "spark" in example.code


def run_shell(example: Example, folder: Path) -> str:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    environment = {key: value for key, value in os.environ.items() if key != "CI"} | {"PATH": path, "NO_COLOR": "1"}
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example.code],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{example.location}: exit status {result.returncode}\n{result.stdout}"
    return result.stdout


def matches(printed: str, expected: str) -> bool:
    lines = (re.escape(line.rstrip()) for line in expected.rstrip().splitlines())
    pattern = "\n".join("(?:.*\n)*?.*" if line == re.escape("...") else line for line in lines)
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed.rstrip().splitlines())) is not None


def _marks(page: Path) -> tuple[pytest.MarkDecorator, ...]:
    """Mark the tests of all pages except the README as `thorough`."""
    return () if page.name == "README.md" else (pytest.mark.thorough,)


@pytest.mark.usefixtures("own_modules")
@pytest.mark.parametrize("page", [pytest.param(page, marks=_marks(page), id=page.name) for page in PAGES])
def test_examples(spark_end: None, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if any(needs_spark(example) for example in examples(page)) and not spark_session.missing():
        spark_session.session()  # Spark's workers must run in the repository root
        (tmp_path / "tests").symlink_to(spark_session.ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__example__"}
    without_spark = False
    for example in examples(page):
        is_python = example.language == "python"
        # If Spark is missing, also skip the Python examples after a Spark example, because they may depend on it.
        if spark_session.missing() and (needs_spark(example) or (without_spark and is_python)):
            without_spark = True
            continue
        printed = run_python(example, namespace) if is_python else run_shell(example, tmp_path)
        if example.expected is not None:
            assert matches(printed, example.expected), f"{example.location} prints\n{printed}\nnot\n{example.expected}"


@pytest.mark.skipif("TAGWIRE_BROKER" not in os.environ, reason="make test-broker starts a broker")
def test_examples_with_a_real_broker() -> None:
    from tagwire import PeerConnectionError, connect
    from tagwire_messages import registry

    address = os.environ["TAGWIRE_BROKER"]
    for pause in (*[1] * 180, 0):
        try:
            connect(address, registry).close()
            break
        except PeerConnectionError:
            assert pause, "the broker does not start within three minutes"
            time.sleep(pause)
    namespace: dict[str, Any] = {"address": address, "running": contextlib.ExitStack()}
    for example in examples(ROOT / "docs" / "howto-broker.md"):
        if "MockPeer" in example.code:
            exec("import uuid\nimport tagwire_messages as messages", namespace)
            continue
        printed = run_python(example, namespace)
        expected = (example.expected or "").replace("localhost', 9092", address.replace(":", "', "))
        assert not expected or matches(printed, expected), f"{example.location} prints\n{printed}\nnot\n{expected}"


def test_there_are_examples() -> None:
    number = {page.name: len(list(examples(page))) for page in PAGES}
    assert number["README.md"] >= 3 and number["cli-messages.md"] >= 8 and number["decoding.md"] >= 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_named_in_pages_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["language"] == "console":
            assert set(re.findall(r"\bmake ([a-z-]+)", block["code"])) <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize(
    ("printed", "expected", "is_match"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\n", False),
        ("a\nx\ny\nb\n", "a\n...\nb\n", True),
        ("a\nb\n", "...\nb\n", True),
        ("a\nc\n", "a\n...\nb\n", False),
        ("axb\n", "a.b\n", False),
    ],
)
def test_outputs_that_match(printed: str, expected: str, is_match: bool) -> None:
    assert matches(printed, expected) is is_match
