"""`tagwire explain --html`: a page that parses, links both ways, loads nothing and escapes everything."""

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

import tagwire_messages as messages
from tagwire.records import BatchBuilder
from tagwire_cli.app import app
from tagwire_cli.explaining import page as page_module

DATA = Path(__file__).parents[2] / "data"
SEGMENT = sorted((DATA / "sample_log").rglob("*.log"))[0]
VOID = {"meta", "br"}
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=y>\"'&amp;\u202e"


class Page(HTMLParser):
    """What a page has; fails on tags that do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        """By id of the element that they are in."""
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.tags and self.tags[-1][0] == "a" and self.open[-1] == "a":
            attributes = self.tags[-1][1]
            key = f"b{attributes['data-f']}" if "data-f" in attributes else str(attributes["href"])
            self.texts[key] = f"{self.texts.get(key, '')} {data}".strip()

    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.tags if "id" in attributes]

    def links(self) -> list[str]:
        return [attributes["href"] or "" for _, attributes in self.tags if "href" in attributes]


def render(*words: str, stdin: bytes = b"", code: int = 0) -> Page:
    result = CliRunner().invoke(app, ("explain", "--html", *words), input=stdin)
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
    "batches": (["--format", "auto"], SEGMENT.read_bytes(), 0),
    "nothing": (["--guess"], b"", 1),
    "tagged": (["HeartbeatRequest", "4", "--hex"], b"02 67 00000003 02 6d 00 01 63 01 21", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_bytes_lead_to_fields_and_fields_to_bytes(name: str) -> None:
    words, data, code = CASES[name]
    page = render(*words, stdin=data, code=code)
    ids = page.ids()
    assert len(ids) == len(set(ids))
    fields = {each[1:] for each in ids if each.startswith("f")}
    dumped = {each[1:] for each in ids if each.startswith("b")}
    assert dumped <= fields and (dumped or name == "nothing")
    assert {f"#f{each}" for each in dumped} | {f"#b{each}" for each in dumped} == set(page.links())
    rows = {
        str(attributes["id"])[1:]: attributes["class"]
        for tag, attributes in page.tags
        if tag == "tr" and "id" in attributes
    }
    assert {rows[each] for each in fields - dumped} <= {"fault"}  # a place between bytes


def test_every_byte_is_in_the_dump() -> None:
    data = request("me")
    page = render("--request", stdin=data)
    dump = " ".join(text for key, text in page.texts.items() if key.startswith("b"))
    assert bytes.fromhex(dump) == data


def test_what_bytes_unpack_to_has_a_dump_of_its_own() -> None:
    batch = BatchBuilder("v2", compression="gzip").append(value=b"v" * 100).build().encode()
    page = render("--format", "v2", stdin=batch)
    assert {link[1:] for link in page.links()} == set(page.ids())
    assert any("76 76 76" in text for text in page.texts.values())


def test_the_page_loads_nothing_and_runs_only_its_own_script() -> None:
    page = render("--request", stdin=request(HOSTILE))
    names = Counter(tag for tag, _ in page.tags)
    assert names["script"] == 1 and not names.keys() & {"img", "link", "iframe", "object", "base", "form"}
    for _, attributes in page.tags:
        assert not attributes.keys() & {"src", "style", "srcset", "action"}
        assert not any(name.startswith("on") for name in attributes)
    assert all(link.startswith("#") for link in page.links())
    [policy] = [attributes["content"] or "" for _, attributes in page.tags if "http-equiv" in attributes]
    digest = base64.b64encode(hashlib.sha256("".join(page.scripts).encode()).digest()).decode()
    assert policy.startswith("default-src 'none'") and f"'sha256-{digest}'" in policy


def test_values_are_text() -> None:
    result = CliRunner().invoke(app, ("explain", "--html", "--request"), input=request(HOSTILE))
    assert "alert(1)" in result.stdout and "<script>alert" not in result.stdout and "<img" not in result.stdout
    assert "\u202e" not in result.stdout


def test_light_and_dark_and_screen_readers() -> None:
    text = CliRunner().invoke(app, ("explain", "--html", "--request"), input=request("me")).stdout
    assert "prefers-color-scheme: dark" in text and 'content="light dark"' in text
    page = Page(text)
    for tag, attributes in page.tags:
        if tag == "a" and "data-f" in attributes:
            assert ("aria-label" in attributes) != ("aria-hidden" in attributes)
    assert any(
        (attributes.get("aria-label") or "").startswith("4 bytes at 8: client_id 'me'") for _, attributes in page.tags
    )


def test_long_fields_are_folded() -> None:
    data = messages.SaslAuthenticateRequest(auth_bytes=bytes(range(256)) * 40).encode(0)
    words = ("explain", "--html", "--show-sensitive", "SaslAuthenticateRequest", "0")
    text = CliRunner().invoke(app, words, input=data).stdout
    assert "10020 bytes of auth_bytes folded" in text and len(text) < 40_000
    shown = bytes.fromhex(" ".join(text for key, text in Page(text).texts.items() if key.startswith("b")))
    assert shown == data[:192] + data[-32:]
    offsets = [int(each) for each in re.findall(r'class="offset">(\d+)', text)]
    assert offsets == [*range(0, 192, 16), 192, len(data) - 32, len(data) - 16]


def test_many_fields_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "FIELDS", 20)
    numbers = messages.DeleteTopicsRequest(topic_names=[f"t{n}" for n in range(100)]).encode(1)
    text = CliRunner().invoke(app, ("explain", "--html", "DeleteTopicsRequest", "1"), input=numbers).stdout
    page = Page(text)
    assert sum(each.startswith("f") for each in page.ids()) == 20
    assert "82 more lines, from byte" in text
    assert {link[1:] for link in page.links()} == set(page.ids())


def test_many_frames() -> None:
    page = render("--capture", stdin=b'{"dir": "req", "hex": "' + request("me").hex().encode() + b'"}\n')
    assert {link[1:] for link in page.links()} == set(page.ids())
