"""Run a custom protocol that uses the whole tagwire dialect through every command that a team needs.

The specs are in tests/data/shop. The bytes are computed by hand, field by field, without tagwire.
"""

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
from coded_ways import check_bytes, check_drawn, check_json
from command import tagwire_result
from network_packets import Segment, pcap

import tagwire
from tagwire import arrow
from tagwire.frames.redaction import Redaction, sensitive_paths
from tagwire.message.engines import native_obstacle
from tagwire.selection.paths import SelectionError

SPECS = Path(__file__).with_name("data") / "shop"

# The first line has `id`, `at` (2023-11-14T22:13:20.123Z), `state` (DONE), `total` and `payment`. `total` is a struct
# with a decimal (19.99), a level and a tag section. `payment` has a marker byte, and a tag section with the nullable
# struct `cash` (tag 1, size 6, decimal 0.05). The second line is the count of `lines`, plus 1. Each of the next two
# lines is a struct in `lines`: `sku`, `no`, `levels`, `grid` (arrays of floats) and a tag section. The last line is the
# message's tag section.
V0 = """
    0000000000000001  0000018bcfe5687b  0007  03 07cf 00 00  01 01 01 06 01 03 0005 00 00
    03
      61626364 8000000000000000 03 00 01  03 02 3fc00000 03 40000000 40400000  00
      65666768 0000000000000003 01  01  00
    00
"""
# Version 1 adds `currency` to Money. The structs in `lines` get `price` (ff if null) and `marks` (nested arrays).
V1 = """
    0000000000000001  0000018bcfe5687b  0007  03 07cf 00 04 455552 00  01 01 01 0a 01 03 0005 00 04 455552 00
    03
      61626364 8000000000000000 03 00 01  01 02 01 00 04 555344 00  03 01 02 01 00
        03 02 3fc00000 03 40000000 40400000  00
      65666768 0000000000000003 01  ff  01  01  00
    00
"""
GOLDEN = {0: bytes.fromhex(V0), 1: bytes.fromhex(V1)}
HEX = GOLDEN[1].hex().encode()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("project") / "shop-project"
    shutil.copytree(SPECS, folder)
    sys.path.insert(0, str(folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        tagwire_result("generate", code=0)
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def shop(project: Path) -> ModuleType:
    return importlib.import_module("shop")


@pytest.fixture
def run(project: Path, shop: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs a command and returns (exit status, output, errors)."""
    monkeypatch.chdir(project)

    def invoke(*words: str, stdin: bytes = b"") -> tuple[int, str, str]:
        found = tagwire_result(*words, stdin=stdin)
        assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
        return found.exit_code, found.stdout, found.stderr

    return invoke


def order(shop: ModuleType, version: int) -> Any:
    lines = importlib.import_module("shop.order_request")
    added: dict[str, Any] = {}
    if version:
        added = {
            "price": shop.Money(amount=b"\x01", currency="USD"),
            "marks": [[], [lines.Mark(level=shop.Level.HIGH)]],
        }
    return shop.OrderRequest(
        id=1,
        at=1700000000123,
        state=shop.State.DONE,
        total=shop.Money(amount=b"\x07\xcf"),
        payment=shop.Payment(cash=shop.Money(amount=b"\x00\x05")),
        lines=[
            lines.Line(sku=b"abcd", no=2**63, levels=(0, 1), grid=((1.5,), (2.0, 3.0)), **added),
            lines.Line(sku=b"efgh", no=3),
        ],
    )


@pytest.mark.parametrize("version", GOLDEN)
def test_golden_bytes_of_both_engines(shop: ModuleType, version: int) -> None:
    assert native_obstacle(shop.OrderRequest, version) == "" or tagwire.engine() == "python"
    check_bytes(order(shop, version), version, GOLDEN[version])


@pytest.mark.parametrize("version", GOLDEN)
def test_json_and_text(shop: ModuleType, version: int) -> None:
    message = order(shop, version)
    obj = message.to_json(version)
    assert (obj["state"], obj["lines"][0]["levels"], obj["total"]["level"]) == ("DONE", ["LOW", "HIGH"], "LOW")
    check_json(message, version)
    del obj["total"]["amount"]
    with pytest.raises(tagwire.EncodeError, match=r"total\.amount"):
        shop.OrderRequest.from_json(obj, version)


def test_strategies_and_columns(shop: ModuleType) -> None:
    check_drawn(shop.OrderRequest, 1, examples=20)
    pa = pytest.importorskip("pyarrow")
    [row] = pa.array(arrow.decode_column(pa.array([GOLDEN[1]]), shop.OrderRequest, 1)).to_pylist()
    assert (row["at"].isoformat(), row["total"]["amount"]) == ("2023-11-14T22:13:20.123000+00:00", Decimal("19.99"))
    assert [line["no"] for line in row["lines"]] == [2**63, 3]


def test_redaction_empties_values_by_their_types(shop: ModuleType) -> None:
    assert list(sensitive_paths(shop.OrderRequest)) == ["payment.card", "lines[].sku", "lines[].marks"]
    paid = order(shop, 1).replace(payment=shop.Payment(card="4111"))
    emptied = shop.OrderRequest.decode(Redaction(shop.registry).message(shop.OrderRequest, paid.encode(1), 1), 1)
    assert emptied.payment == shop.Payment(card="")
    assert [(line.sku, line.marks) for line in emptied.lines] == [(bytes(4), ()), (bytes(4), ())]
    assert emptied.replace(payment=paid.payment, lines=paid.lines) == paid, "nothing else changed"

    data = Redaction(shop.registry, same_length=True).message(shop.OrderRequest, paid.encode(1), 1)
    emptied = shop.OrderRequest.decode(data, 1)
    assert len(data) == len(paid.encode(1)) and emptied.payment.card == "xxxx"
    assert emptied.lines[0].marks[1][0].level is shop.Level.LOW


def test_no_path_goes_into_arrays_of_arrays(shop: ModuleType) -> None:
    for path in ("lines[].marks.level", "lines[].marks[].level"):
        with pytest.raises(SelectionError, match=r"marks"):
            tagwire.select(shop.OrderRequest, path)


CHANGES = [
    (["state=NEW", "total.amount=AQ==", "lines[].sku=MDEyMw=="], ("NEW", "AQ==", ["MDEyMw==", "MDEyMw=="])),
    (["state=7", 'lines[].sku:="MDEyMw=="'], ("DONE", "B88=", ["MDEyMw==", "MDEyMw=="])),
    (["lines[].levels[]=HIGH", "state=9"], (9, "B88=", ["YWJjZA==", "ZWZnaA=="])),
]


@pytest.mark.parametrize(("words", "expected"), CHANGES)
def test_set(run: Any, words: list[str], expected: tuple[Any, ...]) -> None:
    code, hex, errors = run("set", "OrderRequest", "1", *words, "--hex", "--package", "shop", stdin=HEX)
    assert code == 0, errors
    code, text, errors = run("decode", "OrderRequest", "1", "--hex", "--package", "shop", stdin=hex.encode())
    found = json.loads(text)
    assert (found["state"], found["total"]["amount"], [line["sku"] for line in found["lines"]]) == expected, errors


REJECTIONS = [
    ("state=DONNE", "state: expected a member of State, got str 'DONNE'; did you mean 'DONE'?"),
    ("lines[].levels[]=HIHG", "lines[].levels[]: expected a member of Level, got str 'HIHG'; did you mean 'HIGH'?"),
    ("lines[].levels[]=5", "lines[].levels[]: expected Level: LOW (0), HIGH (1), got int 5"),
    ("lines[].sku=AAAA", "lines[].sku: "),
    ("lines[].no=x", "lines[].no: type uint64 requires JSON, got 'x'"),
]


@pytest.mark.parametrize(("word", "expected"), REJECTIONS)
def test_set_names_the_whole_path(run: Any, word: str, expected: str) -> None:
    code, _, errors = run("set", "OrderRequest", "1", word, "--hex", "--package", "shop", stdin=HEX)
    assert code != 0 and expected in errors


def test_show_and_diff(run: Any) -> None:
    code, text, errors = run("show", "OrderRequest", "--package", "shop")
    assert code == 0, errors
    rows = {line.split("  ", 1)[0]: line.split() for line in text.splitlines()}
    assert rows["id"] == ["id", "int64,", "required", "0+"]
    assert rows["at"] == ["at", "int64", "timestamp_ms", "0+", "0"]
    assert rows["state"] == ["state", "int16", "State", "0+", '"NEW"']
    assert (
        "[]Line, unique by no" in text and "bytes[4], sensitive" in text and "string, an alternative of means" in text
    )
    code, text, errors = run("show", "OrderRequest", "--version", "1", "--package", "shop")
    assert code == 0 and "  marks                compact []compact []Mark" in text, errors
    code, text, errors = run("diff", "OrderRequest", "0", "1", "--package", "shop")
    assert code == 0 and "lines.marks.level      -   int8 Level" in text, errors


def test_explain_as_json(run: Any) -> None:
    code, text, errors = run("explain", "OrderRequest", "1", "--hex", "--json", "--package", "shop", stdin=HEX)
    jsonschema.validate(json.loads(text), json.loads(run("json-schema", "explain")[1]))
    assert (code, errors) == (0, "") and '"meaning": "2023-11-14' in text and '"member": "DONE"' in text


def test_specs_are_valid_and_in_normal_form(run: Any) -> None:
    assert run("validate") == (0, "", "no problems in 8 specs\n")
    assert run("generate", "--check")[0] == 0
    code, findings, errors = run("lint")
    assert (code, errors) == (0, "28 warnings, 1 note in 6 specs\n")
    assert "\nspecs/common/Money.json:7:15: warning TL43: Amount has no about" in findings


def test_export_writes_numbers_for_names(run: Any, tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    spec: dict[str, Any] = {"dialect": "tagwire", **json.loads((SPECS / "specs/OrderRequest.json").read_text())}
    spec["fields"] = [field for field in spec["fields"] if field["name"] in ("At", "State")]
    del spec["imports"]
    (tmp_path / "specs/OrderRequest.json").write_text(json.dumps(spec))
    shutil.copy(SPECS / "specs/State.json", tmp_path / "specs")
    code, output, errors = run("export", "--kafka", "--output", str(tmp_path / "kafka"), str(tmp_path / "specs"))
    assert code == 0, output + errors
    fields = json.loads((tmp_path / "kafka/OrderRequest.json").read_text())["fields"]
    assert fields[1] == {"name": "State", "type": "int16", "versions": "0+", "default": "0"}


def test_a_shared_struct_has_no_versions_of_a_message(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(SPECS, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    money = Path("specs/common/Money.json")
    money.write_text(money.read_text().replace('"validVersions"', '"flexibleVersions": "0+",\n  "validVersions"'))
    code, findings, _ = run("validate")
    assert code == 1
    expected = "a shared struct has no flexibleVersions; its lengths are compact if the lengths of the message"
    assert f"specs/common/Money.json:5:3: error TW110: {expected}" in findings


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark(run: Any, shop: ModuleType, tmp_path: Path) -> None:
    code, _, errors = run("generate", "--templates", "@wireshark", "--output", str(tmp_path))
    assert code == 0, errors
    frame = shop.registry.encode_request(order(shop, 1), 1, correlation_id=7)
    capture = tmp_path / "orders.pcap"
    capture.write_bytes(pcap([Segment(0, len(frame).to_bytes(4, "big") + frame)], port=7007))
    script = f"lua_script:{tmp_path / 'shop/dissector.lua'}"
    command = ["tshark", "-X", script, "-d", "tcp.port==7007,shop", "-r", str(capture), "-V", "-O", "shop"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    lines = [line.strip() for line in text.splitlines()]
    assert "State: DONE (7)" in lines and "No: 9223372036854775808" in lines and "Currency: USD" in lines
    at = lines.index("marks: 2")
    expected = "marks[0]: 0, marks[1]: 1, marks[1][0], Level: HIGH (1), grid: 2, grid[0]: 1, Grid: 1.5, grid[1]: 2"
    assert lines[at + 1 : at + 9] == expected.split(", ")


def test_markdown(run: Any, tmp_path: Path) -> None:
    code, _, errors = run("generate", "--templates", "@markdown", "--output", str(tmp_path / "reference"))
    assert code == 0, errors
    text = (tmp_path / "reference/shop/OrderRequest.md").read_text()
    assert "| At | int64 timestamp\\_ms |" in text and "int8 Level" in text
    assert "  marks: compact []compact []Mark\n    level: int8\n    (tagged fields)\n" in text
