import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from spec_projects import spec
from terminal import on_terminal, screen

from tagwire.records import Record, build

pytestmark = pytest.mark.thorough

LEAVE_V0 = bytes.fromhex("00016700016d")
MESSAGE = build([Record(5, 300, b"k", b"v")], "v1").encode()
ESCAPE = "\x1b["
COMMITTED = Path(__file__).parents[1] / "data/captures/captures.jsonl.gz"
LOG = Path(__file__).parents[1] / "data/sample_log"


def run(
    *words: str, stdin: bytes = b"", cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "tagwire_cli", *words]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, env=os.environ | environment, check=False)


def test_bytes_go_through_a_pipe_unchanged() -> None:
    decoded = run("decode", "LeaveGroupRequest", "0", stdin=LEAVE_V0)
    assert (decoded.returncode, decoded.stderr) == (0, b"")
    encoded = run("encode", "LeaveGroupRequest", "0", stdin=decoded.stdout)
    assert (encoded.returncode, encoded.stdout, encoded.stderr) == (0, LEAVE_V0, b"")


def test_the_package_runs_as_the_command() -> None:
    for words, code in ((["--version"], 0), (["help", "engine"], 0), (["nosuch"], 2)):
        command = [sys.executable, "-m", "tagwire", *words]
        done = subprocess.run(command, capture_output=True, check=False)
        same = run(*words)
        assert (done.returncode, done.stdout, done.stderr) == (code, same.stdout, same.stderr)


@pytest.mark.parametrize("words", ["decode LeaveGroupRequest 0", "explain", "log dump -", "lint -", "browse x", "lsp"])
def test_closed_standard_input_has_a_clear_error(words: str, tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    script = f"exec {sys.executable} -m tagwire_cli {words} <&-"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    others = {"browse x": (2, "browse needs a terminal;"), "lsp": (1, "tagwire: lsp needs standard input and output,")}
    code, expected = others.get(words, (1, "tagwire: standard input is closed; give a file\n"))
    assert (result.returncode, result.stdout) == (code, "") and expected in result.stderr


def test_json_is_utf8_in_every_locale() -> None:
    data = bytes.fromhex("0003c3a96700016d")
    result = run("decode", "LeaveGroupRequest", "0", stdin=data, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert json.loads(result.stdout.decode()) == {"groupId": "ég", "memberId": "m"}


@pytest.mark.parametrize("words", [["explain", "LeaveGroupRequest", "0"], ["show", "LeaveGroupRequest"]])
def test_colours_are_for_terminals_and_not_for_no_color(words: list[str]) -> None:
    assert ESCAPE.encode() not in run(*words, stdin=LEAVE_V0).stdout
    code, coloured = on_terminal(*words, stdin=LEAVE_V0)
    assert code == 0 and ESCAPE in coloured
    code, plain = on_terminal(*words, stdin=LEAVE_V0, NO_COLOR="1")
    assert code == 0 and ESCAPE not in plain
    assert plain == run(*words, stdin=LEAVE_V0).stdout.decode()


def test_error_is_red_on_a_terminal() -> None:
    code, text = on_terminal("explain", "LeaveGroupRequest", "0", stdin=LEAVE_V0[:5])
    [error] = [line for line in text.splitlines() if "error" in line]
    assert code == 1 and ESCAPE + "1;31m" in error


WRITERS = pytest.mark.parametrize(
    ("words", "data", "written"),
    [
        (["encode", "LeaveGroupRequest", "0"], b'{"groupId": "g", "memberId": "m"}', LEAVE_V0),
        (["assemble"], b'00 01 "g" 00 01 "m"', LEAVE_V0),
        (["convert", "v1"], MESSAGE, MESSAGE),
    ],
)


@WRITERS
def test_bytes_are_kept_off_a_terminal(words: list[str], data: bytes, written: bytes) -> None:
    code, text = on_terminal(*words, stdin=data)
    assert code == 2 and "use --hex" in text
    hex_data = data.hex().encode() if words[0] == "convert" else data
    assert on_terminal(*words, "--hex", stdin=hex_data) == (0, f"{written.hex()}\n")


@WRITERS
def test_bytes_for_a_standard_output_that_is_closed(words: list[str], data: bytes, written: bytes) -> None:
    assert run(*words, stdin=data).stdout == written
    command = " ".join([sys.executable, "-m", "tagwire_cli", *words, ">&-"])
    result = subprocess.run(["sh", "-c", command], input=data, capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (0, b"")


def test_the_demo_on_a_terminal_has_a_table_of_its_width() -> None:
    code, text = on_terminal("demo", str(COMMITTED), COLUMNS="80")
    assert code == 0 and ESCAPE in text and "librdkafka-2.16.0" in text


def test_a_table_on_a_terminal_keeps_words_whole(tmp_path: Path) -> None:
    path = tmp_path / f"{'a' * 50}.log"
    path.write_bytes(MESSAGE)
    code, text = on_terminal("log", "stat", str(path), COLUMNS="80")
    note, title, row = re.sub(r"\x1b\[[\d;]*m", "", screen(text)).splitlines()
    assert code == 0 and note.startswith("tagwire: the terminal is too narrow for the columns to, codecs, attributes")
    assert title.split() == ["file", "bytes", "batches", "records", "offsets", "from", "formats"]
    assert re.fullmatch(rf"…a+\.log +{len(MESSAGE)} +1 +1 +5 to 5 +1970-01-01T?… +v\d *", row)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="paths are text there")
@pytest.mark.parametrize("encoding", ["utf-8:strict", "latin-1:strict", "cp437"])
def test_tables_with_characters_that_the_terminal_can_not_encode(tmp_path: Path, encoding: str) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + "/é鉄".encode() + b"\xff-0"))
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(MESSAGE)
    for words in (["stat"], ["convert", "--codec", "gzip", "--output", str(tmp_path / "to")]):
        found = run("log", words[0], str(folder), *words[1:], PYTHONIOENCODING=encoding, PYTHONUTF8="1")
        assert (found.returncode, found.stderr) == (0, b"")
        text = found.stdout.decode(encoding.partition(":")[0])
        kept = "鉄" if encoding == "utf-8:strict" else r"\u9244"
        assert f"/é{kept}\\udcff-0/" in text


FULL = "tagwire: standard output can't be written: No space left on device\n"
SETTINGS = """\
[[tool.tagwire.sets]]
specs = "specs"
package = "pings"
output = "src"
"""


def test_the_first_spec_set_of_a_project_is_its_package(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "specs").mkdir()
    for name in ("PingRequest", "PingResponse"):
        plain = spec(name, validVersions="0", flexibleVersions="none")
        (tmp_path / "specs" / f"{name}.json").write_text(json.dumps(plain))
    before = run("messages", cwd=tmp_path)
    assert before.returncode == 2 and b"'pings' can't be imported" in before.stderr

    assert run("generate", "--no-cache", cwd=tmp_path).returncode == 0
    names = [each["name"] for each in json.loads(run("messages", "--json", cwd=tmp_path).stdout)]
    assert names == ["PingRequest", "PingResponse"]
    inside = run("encode", "PingRequest", "0", "--hex", stdin=b'{"nonce": 258}', cwd=tmp_path / "specs")
    assert (inside.returncode, inside.stdout) == (0, b"0000000000000102\n")

    kafka = run("decode", "LeaveGroupRequest", "0", "--package", "tagwire_messages", stdin=LEAVE_V0, cwd=tmp_path)
    assert json.loads(kafka.stdout) == {"groupId": "g", "memberId": "m"}
    header = run("messages", "--kind", "header", cwd=tmp_path)
    assert header.returncode == 2 and b"the kinds are request, response" in header.stderr


def test_settings_that_do_not_exist_or_cannot_be_read(tmp_path: Path) -> None:
    assert json.loads(run("show", "LeaveGroupRequest", "--json", cwd=tmp_path).stdout)["apiKey"] == 13
    (tmp_path / "pyproject.toml").write_text("[tool.tagwire]\nset = 1\n")
    result = run("messages", cwd=tmp_path)
    assert result.returncode == 2 and b"did you mean 'sets'?" in result.stderr


def without(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    script = f"import sys; sys.modules[{module!r}] = None; from tagwire_cli.__main__ import main; main()"
    command = [sys.executable, "-c", script, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, input="")


@pytest.mark.parametrize("module", ["jinja2", "jsonschema", "black", "rich"])
def test_decoding_needs_click_alone(module: str) -> None:
    assert without(module, "show", "LeaveGroupRequest").returncode == 0
    assert without(module, "decode", "LeaveGroupRequest", "0").returncode == 1


@pytest.mark.parametrize("name", ["../x", ".", "a..b", "a/b"])
def test_package_name_that_can_not_be_imported(name: str) -> None:
    result = run("messages", "--package", name)
    assert result.returncode == 2 and b"is not an import name" in result.stderr


@pytest.mark.parametrize(
    "words", ["messages", "--help", "--version", "show FetchResponse", f"decode --capture {COMMITTED}"]
)
def test_a_closed_pipe_has_the_status_of_other_programs(words: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "tagwire_cli", *words.split()]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("words", ["messages", "--help", "--version", f"log dump {LOG}", f"log dump --json {LOG}"])
def test_standard_output_that_is_closed_or_full(words: str) -> None:
    for redirection, code, err in ((">&-", 0, ""), (">/dev/full", 1, FULL)):
        script = f"{sys.executable} -m tagwire_cli {words} {redirection}"
        if redirection != ">/dev/full" or Path("/dev/full").exists():
            done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (code, err), redirection


def test_output_of_which_only_a_part_can_be_written(tmp_path: Path) -> None:
    script = f"ulimit -f 8; PYTHONUNBUFFERED=1 {sys.executable} -m tagwire_cli json-schema spec >{tmp_path}/a"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, FULL.replace("No space left on device", "File too large"))


def test_a_current_directory_that_was_deleted(tmp_path: Path) -> None:
    script = f"rmdir {tmp_path} && {sys.executable} -m tagwire_cli messages"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert "the current directory does not exist any more" in done.stderr
