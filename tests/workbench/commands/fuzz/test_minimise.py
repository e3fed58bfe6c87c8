import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from command import tagwire_outcome

import tagwire_messages as kafka
from tagwire_workbench.fuzzing.corpus import seeds

TARGET = """
import sys

import tagwire_messages as kafka

TEXT = "no function"


def target(data: bytes) -> None:
    print("called")
    message = kafka.MetadataResponse.decode(data, 12)
    if any(topic.is_internal for topic in message.topics):
        raise RuntimeError("internal")


if __name__ == "__main__":
    target(open(sys.argv[1], "rb").read())
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "fuzz_target.py").write_text(TARGET)
    (tmp_path / "broken_target.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "crash").write_bytes(dict(seeds(kafka.MetadataResponse, 12))["many"].encode(12))
    monkeypatch.chdir(tmp_path)
    return tmp_path


TARGETED = ["--target", "fuzz_target:target"]
run = partial(tagwire_outcome, "fuzz", "minimise")


def test_what_a_function_raises(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("crash", "MetadataResponse", 12, *TARGETED, "--output", "new/small")
    minimised = (folder / "new/small").read_bytes()
    message = kafka.MetadataResponse.decode(minimised, 12)
    assert (code, [topic.is_internal for topic in message.topics]) == (0, [True])
    assert out.startswith(f"# MetadataResponse v12: {len(minimised)} bytes\n") and "topics[0].is_internal" in out
    size = (folder / "crash").stat().st_size
    printed = capfd.readouterr()
    assert printed.out == "" and set(printed.err.splitlines()) == {"called"}
    assert re.fullmatch(rf"reduced {size} bytes to {len(minimised)} in \d+ tries\n", err)
    assert [path.name for path in (folder / "new").iterdir()] == ["small"]


def test_what_a_command_prints(folder: Path) -> None:
    words = ["crash", "--command", f"{sys.executable} fuzz_target.py {{}}", "--says", "RuntimeError: internal"]
    code, out, err = run(*words, "MetadataResponse", 12, "--output", "small", "--tries", 12)
    minimised = (folder / "small").read_bytes()
    assert code == 0 and any(topic.is_internal for topic in kafka.MetadataResponse.decode(minimised, 12).topics)
    assert out.startswith("# MetadataResponse v12") and "in 12 tries; a higher --tries may find a smaller one" in err


def test_minimised_by_exit_status(folder: Path) -> None:
    (folder / "text").write_bytes(b"one two three")
    (folder / "check.sh").write_text('grep -q two "$1" && exit 7; exit 0\n')
    assert run("text", "--command", "sh check.sh", "--output", "small")[:2] == (0, "74 77 6f\n")
    assert (folder / "small").read_bytes() == b"two"


@pytest.mark.thorough
def test_children_of_a_hanging_command_are_killed(folder: Path) -> None:
    """The command's child processes must also be killed. Otherwise, they would keep its pipe open for a minute."""
    (folder / "text").write_bytes(b"b")
    (folder / "check.sh").write_text('grep -q b "$1" && (sleep 60; true); exit 0\n')
    assert run("text", "--command", "sh check.sh", "--timeout", 5, "--output", "small")[0] == 0
    assert (folder / "small").read_bytes() == b"b"


@pytest.mark.parametrize("statement", ["while b'b' in data: time.sleep(1)", "b'b' in data and os._exit(7)"])
def test_a_function_that_does_not_return(folder: Path, statement: str) -> None:
    (folder / "text").write_bytes(b"b")
    (folder / "stuck.py").write_text(f"import os, time\ndef target(data):\n    {statement}\n")
    words = ["--target", "stuck:target", "--timeout", 2, "--output", "small"]
    assert run("text", *words) == (0, "62\n", "reduced 1 byte to 1 in 2 tries\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_also_end_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    communicate = Mock(side_effect=lambda process: signal.raise_signal(number))
    monkeypatch.setattr(subprocess.Popen, "communicate", lambda process, **_: communicate(process))
    assert run("crash", "--command", "sh -c 'sleep 60' {}", "--output", "small")[0] == 1
    communicate.call_args.args[0].wait(10)  # raises an error if the command still runs
    assert not (folder / "small").exists()


def test_what_is_before_a_message(folder: Path) -> None:
    (folder / "keyed").write_bytes(bytes.fromhex("0003 000c") + (folder / "crash").read_bytes())
    (folder / "keyed_target.py").write_text(
        "from fuzz_target import target as bare\ntarget = lambda data: bare(data[4:])\n"
    )
    words = ["--kind", "response", "--prefix", "key", "--target", "keyed_target:target", "--output", "small"]
    code, out, _ = run("keyed", *words)
    assert (code, out.splitlines()[0]) == (0, "# 00 03 00 0c: the key before the message")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "give either --target or --command"),
        (["--target", "a:b", "--command", "c"], 2, "give either --target or --command"),
        (["--target", "a:b", "--says", "c"], 2, "--says needs --command"),
        (["--target", "nothing"], 2, "expected MODULE:FUNCTION, got 'nothing'"),
        (["--target", "nowhere:to_be_found"], 2, "can't be imported"),
        (["--target", "fuzz_target:other"], 2, "can't be imported: AttributeError"),
        (["--target", "fuzz_target:TEXT"], 2, "'fuzz_target:TEXT' is not a function"),
        (["--target", "broken_target:target"], 2, "can't be imported: SystemExit: 3"),
        ([*TARGETED, "--kind", "response", "MetadataResponse"], 2, "do not identify the version"),
        ([*TARGETED, "--prefix", "key"], 2, "give the kind"),
        (["--command", "c", "MetadataResponse", "x"], 2, "for VERSION: expected a version number, got 'x'"),
        (["--command", "c", "--timeout", "nan"], 2, "expected a number of seconds from 0.01 to 1000000, got nan"),
        ([*TARGETED, "MetadataResponse", "99"], 2, "has no version 99"),
        (["--target", "builtins:len"], 1, "the target raises no error for this input"),
        (["--command", "true"], 1, "the command exits with status 0"),
        (["--command", "true", "--says", "x"], 1, "the command does not print 'x'"),
        (["--command", "'./target {}"], 2, "can't be split into words: No closing quotation"),
        (["--command", " "], 2, "expected a command such as './target {}', got ' ', which names no program"),
        (["--target", "nowhere:to_be_found", "--output", "small/x"], 1, "small/x can't be written: Not a directory"),
        (["--command", "./is-not-there"], 1, "./is-not-there can't be run"),
    ],
)
def test_rejected_input(folder: Path, words: list[str], code: int, message: str) -> None:
    (folder / "small").write_bytes(b"before")
    found, out, err = run("crash", "--output", "small", *words)
    assert (found, out) == (code, "") and message in " ".join(err.split())
    assert (folder / "small").read_bytes() == b"before"


@pytest.mark.parametrize("output", ["taken", ".", "crash", "link"])
def test_an_output_that_is_a_folder_or_the_input(folder: Path, output: str) -> None:
    (folder / "taken").mkdir()
    (folder / "link").symlink_to("crash")
    before = (folder / "crash").read_bytes()
    code, _, err = run("crash", "MetadataResponse", 12, *TARGETED, "--output", output, "--tries", 2)
    text = "crash, which is being read; choose another output" if output in ("crash", "link") else "is a directory"
    assert code in (1, 2) and text in " ".join(err.split()) and (folder / "crash").read_bytes() == before
