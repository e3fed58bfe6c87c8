import json
import re
from pathlib import Path

import pytest
import small_logs
from command import tagwire_result as run
from spec_projects import read_tree

from tagwire.records import Record, build

TXN = "kafka4/alpha-txn-many-0"


def test_whatif_as_json(logs: Path) -> None:
    result = run("whatif", "--to", "v3", "--json", logs / TXN)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    total = found["total"]
    assert (found["to"], found["against"], found["losses"]) == ("v3", None, [])
    assert total["batches"] == sum(kind["batches"] for kind in found["kinds"]) > 100
    assert total["savedUncompressed"] == total["uncompressedBefore"] - total["uncompressedAfter"] > 0
    assert {kind["topic"] for kind in found["kinds"]} == {"alpha-txn-many"}


def test_whatif_as_tables(logs: Path) -> None:
    result = run("whatif", "--to", "kip82-int", "--against", "v1", "--top", "1", logs / "kafka28", logs / "kafka0.8")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "kip82-int compared with v1"
    assert sum(line.startswith("and ") and "--top" in line for line in lines) == 1
    assert any(line.startswith("lost: ") for line in lines)


def test_whatif_as_a_page(logs: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("whatif", "--to", "v3", "--html", page, logs / "kafka28").exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "alpha-upgrade2" in text and "prefers-color-scheme: dark" in text
    plots = text.split("<figure>")[1:]
    axes = [re.findall(r'style="left: [-0-9.]+%">([-0-9.,]+)</span>', plot) for plot in plots]
    assert len(plots) > 2 and all(
        len(axis) > 1 and plot.count('class="row"') > 1 for plot, axis in zip(plots, axes, strict=True)
    )
    saved = [axis for plot, axis in zip(plots, axes, strict=True) if "% saved" in plot]
    assert len(saved) > 1 and all(axis == saved[0] for axis in saved)
    for foreign in ("<script", "<link", "src=", "@import", "url("):
        assert foreign not in text


def test_a_topic_s_name_is_text_on_the_page(tmp_path: Path) -> None:
    folder = tmp_path / "<b>&-0"
    small_logs.write_segment(folder, build([Record(0, 1_700_000_000_000, b"k", b"v")]))
    assert run("whatif", "--to", "v3", "--html", tmp_path / "page.html", folder).exit_code == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<b>" not in text and "&lt;b&gt;&amp;" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--to", "v9"), "there is no record format 'v9'"),
        (("--to", "v3", "--against", "v9"), "there is no record format 'v9'"),
        (("--to", "v3", "--html", "/dev/null/page", __file__), "/dev/null/page can't be written: Not a directory"),
        (("--to", "v3", "--html", "00000000000000000000.log"), "which is being read; choose an output outside of"),
    ],
)
def test_invalid_options(logs: Path, words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = read_tree(logs / TXN)
    monkeypatch.chdir(logs / TXN)
    done = run("whatif", *words, logs / TXN)
    assert done.exit_code in (1, 2) and message in done.stderr and read_tree(logs / TXN) == before
