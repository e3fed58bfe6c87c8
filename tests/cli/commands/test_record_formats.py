import json
from pathlib import Path

import pytest
from command import tagwire_result

from tagwire.explain.text import parse_annotated
from tagwire.records import Record, build, read_batches

SPECS = Path(__file__).parents[3] / "message_specs"
ONE = build([Record(5, 300, b"k", b"v")], "v1").encode()
PACKED = build([Record(5, 300, b"k", b"v", (("h", None),))], "v2", compression="gzip").encode()


def run(*arguments: str, data: bytes = b"") -> tuple[int, bytes, str]:
    result = tagwire_result(*arguments, stdin=data)
    return result.exit_code, result.stdout_bytes, result.stderr


def test_convert() -> None:
    code, out, err = run("convert", "v3", data=ONE + ONE)
    assert (code, err) == (0, "")
    assert [record.offset for batch in read_batches(out, "v3") for record in batch] == [5, 5]


def test_convert_reports_losses() -> None:
    code, out, err = run("convert", "v1", data=PACKED)
    assert code == 1 and "batch at offset 5: records[0].headers[0]: records have no headers in that format" in err
    assert [len(batch) for batch in read_batches(out)] == [1]
    assert run("convert", "v1", "--refuse-loss", data=PACKED)[:2] == (1, b"")


def test_convert_in_hex() -> None:
    code, out, _ = run("convert", "v1", "--hex", data=ONE.hex().encode())
    assert code == 0 and bytes.fromhex(out.decode()) == ONE


@pytest.mark.parametrize(
    ("arguments", "data", "code", "sentence"),
    [
        (("convert", "v22"), ONE, 2, "there is no record format 'v22'"),
        (("convert", "auto"), ONE, 2, "there is no record format 'auto'"),
        (("convert", "v2", "--from", "v22"), ONE, 2, "there is no record format 'v22'"),
        (("convert", "v2"), ONE[:-1], 1, "found length"),
        (("explain", "--format", "v22"), ONE, 2, "there is no record format 'v22'"),
        (("explain", "--format", "auto", "--request"), ONE, 2, "--request or --format, not both"),
        (("whatif", "--to", "v3", "--against", "v22", "."), b"", 2, "there is no record format 'v22'"),
    ],
)
def test_rejected_input(arguments: tuple[str, ...], data: bytes, code: int, sentence: str) -> None:
    found, _, err = run(*arguments, data=data)
    assert found == code and sentence in err


def test_explain_shows_the_content_of_compressed_bytes() -> None:
    code, out, _ = run("explain", "--format", "auto", data=PACKED)
    lines = out.decode().splitlines()
    assert code == 0 and lines[0] == f"# v2: {len(PACKED)} bytes"
    assert any(line.split()[:3] == ["+0", "16", "records[0].length"] for line in lines)
    assert parse_annotated(out.decode()) == PACKED


def test_explain_several_batches_up_to_the_error() -> None:
    damaged = ONE[:-1] + bytes((ONE[-1] ^ 1,))
    code, out, err = run("explain", "--format", "v1", data=ONE + damaged)
    text = out.decode()
    assert code == 1 and text.count("# v1:") == 2 and "!" in text and "crc" in err
    code, out, _ = run("explain", "--format", "v1", "--json", data=ONE + damaged)
    assert [trace["error"] is None for trace in json.loads(out)] == [True, False]


def test_explain_an_error_in_compressed_bytes() -> None:
    broken = (
        build([Record(5, 300, b"k", b"v")], "v2", compression="gzip").replace(count=2).encode()
    )  # the header declares two records, but the batch contains one
    code, out, err = run("explain", "--format", "v2", data=broken)
    assert code == 1 and "2 elements at byte 0 of the 9 decompressed" in err
    assert parse_annotated(out.decode()) == broken


def test_lint() -> None:
    code, out, err = run("lint", str(SPECS / "records"))
    assert code == 0 and out.decode().count("TL03") == 1
    assert err == "1 note in 3 specs\n"
    code, out, _ = run("lint", "--json", str(SPECS / "drafts" / "smaller_batches" / "RecordBatchV3.json"))
    assert code == 1 and json.loads(out)[0]["rule"] == "TL01"


def test_collide() -> None:
    drafts = SPECS / "drafts"
    code, out, _ = run("collide", str(drafts / "kip82_int"), str(drafts / "kip87"))
    assert code == 1 and "TL21" in out.decode() and "both have version 3 of ProduceRequest" in out.decode()
    found = run("collide", str(drafts / "kip87"), str(SPECS / "records" / "MessageV1.json"))
    assert found == (0, b"", "no problems in 2 designs\n")
    assert run("collide", str(drafts / "kip87"))[0] == 2


def test_collide_needs_designs_that_it_can_judge() -> None:
    design, register = str(SPECS / "drafts/kip87"), str(SPECS / "registries/kip82_int")
    for words, message in (
        ([design, design], "give at least two designs, and each design only once"),
        ([design, f"{design}/../kip87"], "give at least two designs"),
        ([design, register], f"{register} has only registers, but collide checks messages and record formats;"),
    ):
        code, out, err = run("collide", *words)
        assert (code, out) == (2, b"") and message in " ".join(err.split())


@pytest.mark.parametrize("rule", ["tl2", "TW6008", "TWL999"])
def test_an_unknown_rule(rule: str) -> None:
    code, _, err = run("rule", rule)
    assert code == 2 and f"there is no rule '{rule}'; `tagwire rule` lists all rules" in err


@pytest.mark.parametrize(
    "words", [("show", "MessageV1", "--version", "0"), ("diff", "MessageV1", "0", "1"), ("decode", "MessageV1", "0")]
)
def test_commands_about_versions_reject_record_formats(words: tuple[str, ...]) -> None:
    assert "is a record format" in tagwire_result(*words, "--package", "tagwire_records", code=2).stderr


def test_a_format_is_shown_as_it_is_on_the_wire() -> None:
    result = tagwire_result("show", "MessageV1", "--package", "tagwire_records", code=0)
    assert result.stdout.startswith("MessageV1: record format v1, at least 34 bytes")
    assert [line.split()[0] for line in result.stdout.splitlines()[3:]][-2:] == ["key", "value"]
    facts = json.loads(tagwire_result("show", "MessageV1", "--json", "--package", "tagwire_records").stdout)
    assert facts["format"] == "v1" and facts["items"][0]["name"] == "offset"


def test_formats_are_listed_with_the_messages() -> None:
    result = tagwire_result("messages", "--package", "tagwire_drafts.kip82_int", code=0)
    assert "MessageKip82Int" in result.stdout and "ProduceRequest" in result.stdout
    rows = json.loads(tagwire_result("messages", "--json", "--package", "tagwire_records").stdout)
    assert {"name": "MessageV0", "kind": "format", "format": "v0"} in rows
