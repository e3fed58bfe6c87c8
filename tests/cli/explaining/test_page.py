import base64
import hashlib
import json
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_result

import tagwire_messages as messages
from tagwire.explain import html
from tagwire.explain.text import parse_annotated
from tagwire.records import BatchBuilder
from tagwire_messages.metadata_request import MetadataRequestTopic

DATA = Path(__file__).parents[2] / "data"
SEGMENT = sorted((DATA / "sample_log").rglob("*.log"))[0]
VOID = {"meta", "br"}
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=y>\"'&amp;\u202e"
COLUMNS = ["depth", "kind", "name", "type", "value", "offset", "size", "length", "hex", "space", "path"]


class Page(HTMLParser):
    """An HTML parser that collects a page's contents, and fails if tags are not nested properly."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: Counter[str] = Counter()
        self.inside: dict[str, list[str]] = {"script": [], "style": [], "pre": [], "title": []}
        self.feed(text)
        self.close()
        assert self.open == []
        tree, self.script = self.inside["script"]
        self.tree: dict[str, Any] = json.loads(tree)
        self.rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*self.tree["rows"].values(), strict=True)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.inside:
            self.inside[self.open[-1]].append(data)

    def dumped(self, space: int = 0) -> bytes:
        """Check that the rows are contiguous, and return the bytes that they show."""
        data = b""
        for row in self.rows:
            if row["size"] and row["space"] == space:
                assert row["offset"] == len(data)
                data += bytes.fromhex(row["hex"])
                assert len(data) == row["offset"] + row["size"]
        return data

    def path(self, name: str) -> str:
        """Return the field path of the first row with this name, computed as in the page's script."""
        at = next(number for number, row in enumerate(self.rows) if row["name"] == name)
        path, depth = "", 99
        for row in reversed(self.rows[: at + 1]):
            if row["depth"] >= depth:
                continue
            depth = row["depth"]
            own = row["name"] if row["path"] is None else row["path"]
            path = own + ("" if not path or not own or path.startswith("[") else ".") + path
            if row["path"] is not None:
                break
        return path


def render(*words: str, stdin: bytes = b"", code: int = 0) -> Page:
    result = tagwire_result("explain", "--html", *words, stdin=stdin)
    assert result.exit_code == code, result.output
    return Page(result.stdout)


def request(client_id: str) -> bytes:
    return messages.registry.encode_request(
        messages.HeartbeatRequest(group_id=HOSTILE), 4, correlation_id=7, client_id=client_id
    )


CASES = {
    "request": (["--request"], request("me"), 0),
    "guess": (["--guess"], request("me"), 0),
    "fault": (["--request"], request("me")[:-3], 1),
    "rest": (["--request"], request("me") + b"more", 1),
    "tagged": (["HeartbeatRequest", "4"], bytes.fromhex("02670000000302 6d 00 01 63 01 21"), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_every_byte_is_in_one_row(name: str) -> None:
    words, data, code = CASES[name]
    page = render(*words, stdin=data, code=code)
    assert page.dumped() == data
    # The plain-text dump, which browsers without scripts show, must also contain all bytes.
    assert parse_annotated("".join(page.inside["pre"])) == data
    faults = [row for row in page.rows if page.tree["kinds"][row["kind"]] == "error"]
    assert len(faults) == (code == 1)


def test_rows_nest_as_the_fields_do() -> None:
    request = messages.MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in ("orders", "returns")])
    page = render("MetadataRequest", "9", stdin=request.encode(9))
    shown = [(row["depth"], row["name"], row["value"]) for row in page.rows[:6]]
    topic = [(2, "[0]", ""), (3, "name", "'orders'"), (3, "tagged fields", "0")]
    assert shown == [(0, "MetadataRequest v9", ""), (1, "topics", "2"), *topic, (2, "[1]", "")]
    assert page.path("name") == "topics[0].name" and page.path("tagged fields") == "topics[0]"


def test_length_of_a_struct_includes_its_members() -> None:
    header, body = (row for row in render("--request", stdin=request("me")).rows if row["depth"] == 0)
    assert header["length"] + body["length"] == len(request("me")) and header["size"] == body["size"] == 0


def test_decompressed_bytes_have_their_own_space() -> None:
    batch = BatchBuilder("v2", compression="gzip").append(value=b"v" * 100).build().encode()
    page = render("--format", "v2", stdin=batch)
    assert page.dumped(0) == batch and b"v" * 100 in page.dumped(1)


def test_batches_and_frames_are_one_tree() -> None:
    page = render("--format", "auto", stdin=SEGMENT.read_bytes())
    assert sum(row["depth"] == 0 for row in page.rows) > 1
    capture = b'{"dir": "req", "hex": "' + request("me").hex().encode() + b'"}\n'
    page = render("--capture", stdin=capture * 2)
    assert [row["name"].partition(",")[0] for row in page.rows if row["depth"] == 0] == ["frame 1", "frame 2"]


def test_bytes_without_a_match() -> None:
    page = render("--guess", stdin=b"\xff", code=1)
    assert page.tree["title"] == "No match" and page.rows == []


def test_the_page_loads_nothing_and_runs_only_its_own_script() -> None:
    page = render("--request", stdin=request(HOSTILE))
    names = Counter(tag for tag, _ in page.tags)
    assert names["script"] == 2 and not names.keys() & {"a", "img", "link", "iframe", "object", "base", "form"}
    for _, attributes in page.tags:
        assert not attributes.keys() & {"src", "href", "style", "srcset", "action"}
        assert not any(name.startswith("on") for name in attributes)
    [policy] = [attributes["content"] or "" for _, attributes in page.tags if "http-equiv" in attributes]
    assert policy.startswith("default-src 'none'")
    for text in (page.script, *page.inside["style"]):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "innerHTML" not in page.script and "http" not in page.script + "".join(page.inside["style"])


def test_values_are_text() -> None:
    result = tagwire_result("explain", "--html", "--request", stdin=request(HOSTILE))
    assert "alert(1)" in result.stdout and "<script>alert" not in result.stdout and "<img" not in result.stdout
    assert "\u202e" not in result.stdout
    assert any("<script>alert(1)" in row["value"] for row in Page(result.stdout).rows)


def test_light_and_dark() -> None:
    style, script = html.component()
    assert "prefers-color-scheme: dark" in style and 'data-theme="dark"' in style
    text = tagwire_result("explain", "--html", "--request", stdin=request("me")).stdout
    assert 'content="light dark"' in text and style in text and script in text


def test_long_fields_are_folded() -> None:
    data = messages.SaslAuthenticateRequest(auth_bytes=bytes(range(256)) * 40).encode(0)
    page = render("--show-sensitive", "SaslAuthenticateRequest", "0", stdin=data)
    [field] = [row for row in page.rows if row["name"] == "auth_bytes"]
    assert [bytes.fromhex(part) for part in field["hex"]] == [data[:192], data[-32:]] and field["size"] == len(data)
    hidden = render("SaslAuthenticateRequest", "0", stdin=data)
    assert [row["hex"] for row in hidden.rows if row["name"] == "auth_bytes"] == [None]


def test_many_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    data = messages.DeleteTopicsRequest(topic_names=[f"t{n}" for n in range(10_000)]).encode(1)
    page = render("DeleteTopicsRequest", "1", stdin=data)
    assert len(page.rows) > 10_000 and page.dumped() == data
    assert len("".join(page.inside["pre"]).splitlines()) == 2_001
    monkeypatch.setattr(html, "FIELDS", 20)
    page = render("DeleteTopicsRequest", "1", stdin=messages.DeleteTopicsRequest(topic_names=["t"] * 30).encode(1))
    assert len(page.rows) == 21 and page.rows[-1]["name"].endswith("more rows not shown")
