import os
import re
import shutil
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from command import tagwire_result
from command_paths import COMMAND_PATHS, command_of
from network_packets import Segment, pcap
from release_jars import jar
from spec_projects import change_before_write, make_project, read_tree

from tagwire.records import BatchBuilder
from tagwire_cli.app import app
from tagwire_cli.output.tables import TableColumn, fitted
from tagwire_messages import ApiVersionsResponse, registry

HEX = "0012000300000007000864656d6f2d61707000087461677769726504312e3000"
READERS = """\
decode MetadataRequest 12 {file}
decode --frames response --requests {file}
encode MetadataRequest 12 {file}
get MetadataRequest 12 topics --file {file}
set MetadataRequest 12 topics=[] --file {file}
redact --frames request {file}
explain MetadataRequest 12 {file}
explain --guess {file}
assemble {file}
demo {file}
browse {file}
convert --format v2 v1 {file}
log dump {file}
log stat {file}
log verify {file}
log state {file}
log salvage {file} --output {out}
log compact {file} --output {out}
log convert --to v2 {file} --output {out}
whatif --to v1 {file}
validate {file}
fmt {file}
lint {file}
collide {file} {file}
import {file} --output {out}
export {file}
breaking {file} {file}
replay {file} 127.0.0.1:1
compare {file} {file}
fuzz minimise {file} MetadataRequest 12 --command false --output {out}
mock serve {file}
"""
"""A command line for each command that reads files."""


@pytest.mark.parametrize("line", READERS.splitlines(), ids=lambda line: line.partition(" {")[0])
def test_a_missing_file_is_wrong_usage(line: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    done = tagwire_result(*line.format(file=missing, out=tmp_path / "out").split())
    expected = f"tagwire: {missing} can't be read: No such file or directory\n"
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", expected)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("line", READERS.splitlines(), ids=lambda line: line.partition(" {")[0])
def test_a_dash_is_standard_input_or_wrong_usage(line: str, tmp_path: Path) -> None:
    done = tagwire_result(*line.format(file="-", out=tmp_path / "out").split(), stdin="")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "No such file" not in done.stderr
    assert "can't be standard input" not in done.stderr or done.exit_code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes with names")
@pytest.mark.parametrize("kind", ["pipe", "loop", "folder"])
@pytest.mark.parametrize(
    "words",
    [
        "validate message_specs",
        "fmt --check message_specs",
        "lint message_specs",
        "breaking message_specs/PingRequest.json message_specs/PingRequest.json",
        "lock message_specs --file lock.json",
        "export --kafka message_specs",
        "add-version message_specs/PingRequest.json --dry-run",
        "add-version other/PingRequest.json --dry-run",
        "import message_specs --component x --output new",
        "draft-version message_specs --output new",
        "explain --package tagwire_messages logs",
        "log dump --package tagwire_messages logs",
        "log stat logs",
        "log convert logs --output new",
        "whatif logs --to v1",
    ],
)
def test_no_command_waits_for_a_pipe_in_a_folder(
    words: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_project(tmp_path))
    shutil.copytree("message_specs", "other")
    for name in ("message_specs/Other.json", "other/Other.json", f"logs/t-0/{0:020}.log"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        if kind == "pipe":
            os.mkfifo(name)
        elif kind == "loop":
            Path(name).symlink_to(tmp_path / name)
        else:
            Path(name).mkdir()
    done = tagwire_result(*words.split())
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception


REWRITERS = """\
message_specs/PingRequest.json: add-version PingRequest
message_specs/PingRequest.json: add-field PingRequest --field Rack --type string
message_specs/PingRequest.json: fmt message_specs/PingRequest.json
message_specs/clients/PingRequest.json: import kafka-clients-9.1.0.jar --output message_specs
message_specs/PingRequest.json: draft-version drafts --output message_specs
drafts/PingRequest.json: draft-version drafts --in-place
lock.json: lock message_specs --file lock.json
pyproject.toml: init pongs
"""
"""A command line for each command that changes its user's files, and one of these files."""


@pytest.mark.parametrize("line", REWRITERS.splitlines())
def test_a_change_of_another_process_is_not_overwritten(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file, _, words = line.partition(": ")
    if file == "pyproject.toml":
        Path(file).write_text("[project]\n")
    else:
        make_project(tmp_path)
        specs = {path.name: path.read_text() for path in sorted(Path("message_specs").iterdir())}
        Path("drafts").mkdir()
        for name, text in specs.items():
            (Path("drafts") / name).write_text(text.replace('"1+"', '"none"'))
        jar(tmp_path, {f"common/message/{name}": text for name, text in specs.items()}, "kafka-clients-9.1.0.jar")
        if "--output message_specs" in line:
            Path("message_specs").rename("old")
    before = read_tree(tmp_path)
    change_before_write(Path(file), monkeypatch)
    error = f"{file} was changed by another process in the meantime and is not overwritten; run the command again"
    assert error in tagwire_result(*words.split(), code=1).stderr
    assert read_tree(tmp_path) == before | {file: b"changed"}


def test_global_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()

    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    show = ("show", "HeartbeatRequest")
    plain = tagwire_result(*show)
    assert "package tagwire_messages from " in tagwire_result("-v", *show).stderr and plain.stderr == ""
    assert tagwire_result("init", "one", "a").stderr and not tagwire_result("-q", "init", "two", "b").stderr
    colored, uncolored = (tagwire_result("--color", when, "explain", HEX).stdout for when in ("always", "never"))
    assert "\x1b[" in colored and click.unstyle(colored) == uncolored
    assert "\x1b[" in CliRunner().invoke(app, ["explain", HEX], env={"FORCE_COLOR": "1", "NO_COLOR": None}).stdout
    assert tagwire_result("-C", "inner", "init", "three", code=0) and (tmp_path / "inner" / "message_specs").is_dir()
    missing = "tagwire: nowhere can't be read: No such file or directory\n"
    assert tagwire_result("-C", "nowhere", *show).stderr == missing
    assert tagwire_result("-V").stdout == tagwire_result("--version").stdout


def test_tables_fit_terminals() -> None:
    columns = [TableColumn("file"), TableColumn("bytes", is_number=True), TableColumn("default"), TableColumn("more")]
    row = ["logs/orders-0/00000000000000000000.log", "12", '"AAAAAAAAAAAAAAAAAAAAAA"', "last"]
    assert fitted(columns, [row], 80)[1] == [row]
    assert fitted(columns, [row], 60)[1] == [["logs/orders-0/…0.log", "12", f'"{20 * "A"}…', "last"]]
    kept, rows = fitted(columns, [row], 40)
    assert [each.title for each in kept] == ["file", "bytes", "more"]
    assert rows == [["logs/orders-0/…0.log", "12", "last"]]


def test_explain_fits_narrow_terminals() -> None:
    narrow = CliRunner().invoke(app, ["--color", "always", "explain", HEX], env={"COLUMNS": "60"})
    lines = re.sub(r"\x1b\[[0-9;]*m", "", narrow.stdout).splitlines()
    assert "offset  bytes        path                     value" in lines
    assert max(map(len, lines)) <= 60
    assert narrow.stderr == "tagwire: the terminal is too narrow for the columns type; widen it, or pipe the output\n"


@pytest.mark.parametrize("words", [("explain", "-"), ("log", "dump", "."), ("browse", ".")])
def test_one_name_for_record_formats(words: tuple[str, ...]) -> None:
    for name in ("--record-format", "--format"):
        assert "for JSON output, use --json" in tagwire_result(*words, name, "json", code=2).stderr


@pytest.mark.parametrize("path", COMMAND_PATHS)
def test_one_meaning_for_each_option(path: str) -> None:
    params = [each for each in command_of(path).params if isinstance(each, click.Option)]
    options = {name: each for each in params for name in each.opts}
    # `--frames` takes "request" or "response", except in `assemble`, whose input contains the kind of each frame.
    if "--frames" in options and path != "assemble":
        kinds = options["--frames"].type
        assert isinstance(kinds, click.Choice) and {"request", "response"}.issubset(kinds.choices)
        assert options["--frame"] is options["--frames"]
    prints_lines = "per line" in ((options["--json"].help or "") if "--json" in options else "")
    assert ("--jsonl" in options) == prints_lines or path in ("decode", "encode")
    for one, other in (("--record-format", "--format"), ("--output-format", "--format"), ("--duration", "--time")):
        assert one not in options or options[one] is options[other]


@pytest.mark.parametrize("words", ["log dump", "log stat", "log verify", "log state", "validate", "fmt", "lint"])
def test_errors_name_standard_input(words: str) -> None:
    done = tagwire_result(*words.split(), "-", stdin="{")
    assert "standard input:" in done.output and "/tmp" not in done.output


WRONG = """\
explain nosuch.pcap|2|nosuch.pcap can't be read: No such file or directory
explain 00120003000|1|odd number of hex digits (11)
explain Metadata|2|give MESSAGE VERSION, such as MetadataRequest 13
explain MetadataRequest|2|give MESSAGE VERSION, such as MetadataRequest 13
explain 3|2|give MESSAGE VERSION, such as MetadataRequest 13
decode MetadataRequest 12|1|the input looks like hex; add --hex
decode --frames request|1|the input looks like hex; add --hex
get MetadataRequest 12 topics[].name|1|the input looks like hex; add --hex
redact --frames request|1|the input looks like hex; add --hex
explain --request|1|the input looks like hex; add --hex
explain --hex {binary}|1|leave out --hex
explain --response {binary}|2|give API VERSION, such as Metadata 13
explain --frames request --response Metadata 12|2|give --response or --frames request, not both
decode 3 12|2|API 3 has two messages; give MetadataRequest or MetadataResponse
decode MetadataRequest 12 {dump}|1|the input looks like a hex dump; `tagwire explain --input auto` reads it
decode MetadataRequest 12 t.pcap|1|`tagwire explain t.pcap` and `tagwire decode --capture t.pcap` read it
decode {binary}|2|such as MetadataRequest 13. `tagwire explain binary` detects what the input is.
decode t.pcap|2|`tagwire explain t.pcap` and `tagwire decode --capture t.pcap` read it
get topics --file t.pcap|2|`tagwire get --capture --file t.pcap MESSAGE PATH...` read it
get --capture --file t.pcap MetadataRequest|2|give at least one path. The order is MESSAGE PATH...
get --capture --file t.pcap MetadataRequest topic|2|did you mean 'topics'?
get --frames request MetadataRequest 13 topics|2|got '13'. The order is MESSAGE PATH...
get topics MetadataRequest 13|2|got 'MetadataRequest'; give MESSAGE VERSION, such as MetadataRequest 13
decode MetadataRequest 13 0012000a|2|`tagwire explain` takes hex as an argument, other commands read files
get MetadataRequest 13 topics --file t.pcap|1|`tagwire get --capture --file t.pcap MESSAGE PATH...` read it
decode seg.log|2|The input looks like a log segment; `tagwire log dump seg.log` prints it
decode MetadataRequest v13 seg.log|1|the input looks like a log segment; `tagwire log dump seg.log` prints it
decode --frames request seg.log|1|the input looks like a log segment; `tagwire log dump seg.log` prints it
decode --capture seg.log|1|seg.log is not a capture: the input looks like a log segment; `tagwire log dump seg.log`
explain 00000000000000000000.index|1|an offset index; `tagwire log dump 00000000000000000000.index` prints it
explain --capture seg.log|1|seg.log is not a capture: the input looks like a log segment
explain --capture text.txt|1|text.txt: line 1 is not a captured frame: it is not valid JSON; expected a capture
explain text.txt|1|the input is text, but not hex,
explain cut.pcap|1|the packet header at byte 24 has 16 bytes, but only 6 are left
explain t.pcap|1|no packet of the network capture contains TCP data
explain t.pcap --only 9-3|2|the range is reversed; use 3-9
explain t.pcap --only 0|2|frame numbers start at 1
explain --response Metadata 00|2|expected a version number, got '00'
decode MetadataRequest 13 empty.bin|1|the input is empty
get MetadataRequest 13 topics --file empty.bin|1|the input is empty
encode MetadataRequest 13 empty.bin|1|JSON input: the input is empty
explain --request empty.bin|1|the input is empty
redact empty.bin|0|empty.bin is empty
decode --frames request empty.bin|0|empty.bin is empty
encode --frames request empty.bin|0|empty.bin is empty
log dump t.pcap|1|t.pcap: expected a log segment, got a network capture; read the file with `tagwire explain t.pcap`
redact --capture p.pcap|2|This command detects captures; leave out --capture.
redact p.pcap|1|frame 3: the request of this response was not captured, so its API is unknown
replay p.pcap --to 127.0.0.1:1|1|p.pcap: skipped 1 response, because bytes or requests are missing from the capture
replay sasl.jsonl --to 127.0.0.1:1|1|1 gap, because bytes or requests are missing from the capture, or hidden without --
compare sasl.jsonl sasl.jsonl|0|sasl.jsonl: 1 frame can't be read: a SASL token without a header
compare p.pcap p.pcap|0|p.pcap: 1 frame can't be read: response without a captured request
spark convert nosuch --output x|2|nosuch can't be read: No such file or directory
show MetadataRequest --package tagwire_records|2|for Kafka's messages, add --package tagwire_messages
show Metadata --package tagwire_records|2|for Kafka's messages, add --package tagwire_messages
spark audit . --leftovers --rejected-by 4.0|2|--leftovers can't be combined with --rejected-by
decode --package tagwire_records MetadataRequest|2|give MESSAGE VERSION, such as MessageV0 0
decode --frames request {binary}|1|found 28 bytes of a frame of 1179651 bytes, expected the whole frame
show v2|2|use `tagwire show RecordBatchV2 --package tagwire_records`
show LeaveGroupRequst|2|MESSAGE: there is no message 'LeaveGroupRequst'; did you mean 'LeaveGroupRequest'
explain LeaveGroupRequst 0|2|MESSAGE: there is no message 'LeaveGroupRequst'; did you mean 'LeaveGroupRequest'
show LeaveGroupRequest --version 99|2|LeaveGroupRequest has no version 99; supported versions are 0-5
explain LeaveGroupRequest 99|2|LeaveGroupRequest has no version 99; supported versions are 0-5
messages --package nosuch_package|2|Invalid value for --package: 'nosuch_package' can't be imported
messages --package tagwire_messages.nosuch|2|Invalid value for --package: 'tagwire_messages.nosuch' can't be imported
messages --package json|2|Invalid value for --package: 'json' is not a generated package
show Zzz|2|`tagwire messages` lists all messages
explain t.pcap 13 MetadataRequest|2|there is no message 't.pcap'
explain MetadataRequest t.pcap|2|got 't.pcap'; the input looks like a network capture; `tagwire explain t.pcap`
explain --request t.pcap|1|the input looks like a network capture
explain meta.properties|1|meta.properties, a file of a log; `tagwire log dump meta.properties` prints it
explain data.json|1|the input looks like JSON; `tagwire encode MESSAGE VERSION` encodes it
decode MetadataRequest 13 data.json|1|the input looks like JSON; `tagwire encode MESSAGE VERSION data.json`
decode 0012000300000007|2|`tagwire explain` takes hex as an argument, other commands read files or, with --hex, hex
encode MetadataRequest 13 data.json|1|did you mean 'allowAutoTopicCreation'? JSON keys are in camelCase
encode MetadataRequest 13 {binary}|1|expected JSON, got
convert v1 t.pcap|1|the input looks like a network capture; `tagwire explain t.pcap`
convert v1 {binary}|1|if the input is not record batches, `tagwire explain binary` detects what it is
convert v1 empty.bin|0|empty.bin is empty
convert v1 seg.log --output x|2|The output is written to standard output; redirect it with `> FILE`.
log dump empty.bin|0|the log is empty
log dump text.txt|1|if this is not a log segment, `tagwire explain text.txt` detects what it is
log dump seg.log --from 3|2|Select records with --start-offset, --end-offset,
log dump --files seg.log --print-data-log|2|`tagwire log dump PATH` prints records and the entries of indexes
log verify text.txt|1|1 segment, 1 problem
decode --bootstrap-server localhost:9092 --topic a|2|This command does not connect to a broker.
-b localhost:9092 -t a|2|This command does not connect to a broker.
-C -b localhost:9092 -t a|2|This command does not connect to a broker.
replay t.pcap -b localhost:9092|2|Give the address of the broker with --to HOST:PORT.
decode --request {binary}|2|`tagwire explain --request` reads a request
log dump -q seg.log|2|write it before the command, as in `tagwire -q ...`
convert --to v2 seg.log|2|Give the new format as the first argument
--package shop messages|2|write it after the command, as in `tagwire COMMAND --package ...`
log compact seg.log|2|Missing option '--output'. Write the partitions to this folder.
show|2|Missing argument 'MESSAGE'. `tagwire messages` lists all messages.
diff HeartbeatRequest 3 9|2|HeartbeatRequest has no version 9; supported versions are 0-4
diff HeartbeatRequest 3|2|give both versions, or neither
diff MetadataRequest FetchRequest|2|Invalid value for V1: expected a version number, got 'FetchRequest'
generate .|2|to run in this directory, use `tagwire -C . ...`
add-field X --field X --type int32|2|this project has no specs; `tagwire init` starts one
"""
"""Wrong command lines, each with its exit status and a part of the error. Standard input is a request in hex."""
ANSWER = registry.encode_response(ApiVersionsResponse(), 3, correlation_id=7)
SASL = "".join(f'{{"dir": "req", "hex": "{each}"}}\n' for each in ("0011000000000001ffff0005504c41494e", "00"))
FRAMES = [len(frame).to_bytes(4, "big") + frame for frame in (bytes.fromhex(HEX), ANSWER)]
UNPAIRED = pcap(
    Segment(number, data, is_request, "PA" if data else "S", port)
    for port in (40000, 40001)
    for is_request, frame in ((True, FRAMES[0]), (False, FRAMES[1]))
    for number, data in enumerate((b"", frame))
    if (port, is_request, number) != (40001, True, 1)
)
"""A network capture of two connections: one has a request and its response, the other only a response."""


@pytest.mark.parametrize("line", WRONG.splitlines())
def test_a_wrong_command_line_is_answered(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(bytes.fromhex(HEX))
    (tmp_path / "dump").write_text(f"00000000: {HEX[:16]} {HEX[16:32]}\n00000010: {HEX[32:48]} {HEX[48:]}\n")
    (tmp_path / "t.pcap").write_bytes(pcap([Segment(1, b"", flags="S"), Segment(9, b"", flags="S")]))
    (tmp_path / "cut.pcap").write_bytes(pcap([]) + bytes(6))
    (tmp_path / "seg.log").write_bytes(bytes(BatchBuilder().append(b"k", b"v").build().encode()))
    (tmp_path / "text.txt").write_text("hello world this is text\n")
    for name in ("empty.bin", f"{0:020}.index"):
        (tmp_path / name).write_bytes(bytes(8 if name != "empty.bin" else 0))
    (tmp_path / "sasl.jsonl").write_text(SASL)
    (tmp_path / "meta.properties").write_text("version=1\n")
    (tmp_path / "data.json").write_text('{"topics": [], "allow_auto_topic_creation": true}\n')
    (tmp_path / "p.pcap").write_bytes(UNPAIRED)
    words, status, answer = line.split("|")
    done = tagwire_result(*words.format(binary="binary", dump="dump").split(), stdin=HEX)
    assert done.exit_code == int(status) and answer in done.stderr and (status != "2" or not done.stdout), done.output


def test_a_redacted_network_capture_is_a_capture() -> None:
    every = tagwire_result("redact", "--keep-unreadable", stdin=UNPAIRED, code=1).stdout
    words = ("decode", "--capture", "--jsonl", "--keep-going")
    frames = [tagwire_result(*words, stdin=each) for each in (UNPAIRED, every)]
    assert frames[1].stdout.replace("; its line needs api_key and api_version", "") == frames[0].stdout
    assert len(tagwire_result("redact", stdin=UNPAIRED, code=1).stdout.splitlines()) == 2
