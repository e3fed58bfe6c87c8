"""Test the built site and the pages of `tagwire explain --html` in a real headless browser.

`make test-site` runs these tests. They are skipped without a browser, and CI does not run them.
"""

import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_result
from web_driver import Browser, browser, served, why_not

import tagwire_messages as messages

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"
CAPTURES = ROOT / "tests" / "data" / "captures" / "captures.jsonl.gz"
WHY_NOT = "in CI there is no browser" if os.environ.get("CI") else why_not()

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]

PLAY = "const play = document.querySelector('[data-playground]'); "


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    if not (SITE / "playground" / "core.zip").is_file():
        pytest.skip("there is no build/site: make site")
    with served(SITE) as address:
        yield address


def frames() -> Iterator[dict[str, Any]]:
    with gzip.open(CAPTURES, "rt") as lines:
        yield from map(json.loads, lines)


def explained(*words: str, stdin: str) -> str:
    return tagwire_result("explain", *words, stdin=stdin).stdout


def test_pages_load_without_errors(window: Browser, site: str) -> None:
    every = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if path.name != "404.html")
    few = [path for number, path in enumerate(every) if "/" not in path or number % 12 == 0]
    for path in every if os.environ.get("TAGWIRE_TEST_EVERY") else few:
        window.open(site + path)
        assert window.run("return document.querySelector('h1') !== null"), path
        window.wait("return [...document.querySelectorAll('.samples')].every((each) => each.querySelector('.tx-row'))")
        assert window.errors() == [], path


def test_nothing_is_loaded_from_elsewhere() -> None:
    if not SITE.is_dir():
        pytest.skip("there is no build/site: make site")
    for path in SITE.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"""<(?:script|img|iframe)[^>]*\ssrc="?https?:""", text), path
        assert not re.search(r"""<link[^>]*rel="?(?:stylesheet|preconnect|preload)[^>]*https?:""", text), path


@pytest.mark.parametrize("way", ["http", "file"])
def test_search_finds_a_message(window: Browser, site: str, way: str) -> None:
    window.open((site if way == "http" else f"{SITE.as_uri()}/") + "index.html")
    window.run("document.querySelector('.md-search__button').click()")
    shadow = "const shadow = [...document.querySelectorAll('*')].find((each) => each.shadowRoot)?.shadowRoot; "
    window.wait(shadow + "return shadow?.querySelector('input')")
    window.run(shadow + """const input = shadow.querySelector('input');
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, 'OffsetFetchResponse');
        input.dispatchEvent(new Event('input', { bubbles: true }));""")
    first = window.wait(shadow + "return shadow.querySelector('a[href*=\"/messages/\"]')?.href")
    assert "/messages/offset_fetch_response.html" in first


def test_page_of_a_message_highlights_the_bytes_of_a_field(window: Browser, site: str) -> None:
    window.open(site + "messages/metadata_request.html")
    window.wait("return document.querySelector('.tx-hex .tx-piece')")
    row = window.run("""const pieces = [...document.querySelectorAll('.tx-hex .tx-piece')];
        const piece = pieces.find((each) => each.textContent.startsWith('3c a9'));
        piece.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
        return [...document.querySelectorAll('.tx-row.tx-on')].map((each) => each.dataset.path);""")
    assert row == ["topics[0].topic_id"]
    window.run("""const choice = document.querySelector('.samples select');
        choice.value = 0; choice.dispatchEvent(new Event('change'));""")
    assert window.run("return document.querySelector('.tx-title').textContent") == "MetadataRequest v0: 11 bytes"


def ask(window: Browser, script: str) -> None:
    window.run(PLAY + "play.dataset.answered = 0; " + script)
    window.wait(PLAY + "return +play.dataset.answered", seconds=120)


def test_the_playground_explains_as_the_command_line_does(window: Browser, site: str) -> None:
    window.open(site + "playground.html")
    window.wait(PLAY + "return play.dataset.ready && +play.dataset.answered", seconds=120)
    seen: set[tuple[str, int]] = set()
    for frame in frames():
        if (kind := (frame["dir"], frame["api_key"])) in seen or len(seen) >= 8:
            continue
        seen.add(kind)
        ask(window, f"history.replaceState(null, '', '#hex={frame['hex']}'); dispatchEvent(new Event('hashchange'));")
        text = window.run(PLAY + "return play.querySelector('[data-text]').textContent")
        assert text == explained("--guess", stdin=frame["hex"]).replace(" --input auto", ""), frame["hex"]
    assert window.errors() == []


def test_an_edit_changes_the_bytes_and_the_link(window: Browser, site: str) -> None:
    data = messages.registry.encode_request(messages.HeartbeatRequest(group_id="g"), 4, correlation_id=7)
    window.open(f"{site}playground.html#kind=request&hex={data.hex()}")
    window.wait(PLAY + "return +play.dataset.answered && play.querySelector('.tx-row')", seconds=120)
    window.run("[...document.querySelectorAll('.tx-row')].find((each) => each.dataset.path === 'group_id').click()")
    ask(
        window,
        """const form = play.querySelector('[data-edit]');
        form.querySelector('input').value = 'a longer group'; form.querySelector('button').click();""",
    )
    message = messages.HeartbeatRequest(group_id="a longer group")
    expected = messages.registry.encode_request(message, 4, correlation_id=7).hex()
    assert window.run(PLAY + "return play.querySelector('[data-bytes]').value") == expected
    assert f"hex={expected}" in window.run("return location.hash")


def test_records_are_opened_and_compressed_ones_too(window: Browser, site: str) -> None:
    window.open(site + "formats/v2.html")
    links = window.run("""const json = document.querySelector('.samples script').textContent;
        return JSON.parse(json).map((each) => each.link);""")
    window.open(f"{site}playground.html#{links[-1]}")
    window.wait(PLAY + "return +play.dataset.answered", seconds=120)
    text = window.run(PLAY + "return play.querySelector('[data-text]').textContent")
    assert "records[2].value" in text and not re.search(r"\berror\b", text)


def test_a_spec_is_checked_generated_and_compared(window: Browser, site: str) -> None:
    window.open(site + "playground.html")
    window.wait(PLAY + "return play.dataset.ready && +play.dataset.answered", seconds=120)
    ask(window, "play.querySelector('[data-tab=spec]').click();")
    assert "class OrderRequest(Message" in window.run(PLAY + "return play.querySelector('[data-classes]').textContent")
    assert "wire TW" in window.run(PLAY + "return play.querySelector('[data-breaking]').textContent")
    ask(
        window,
        "const spec = play.querySelector('[data-spec]'); spec.value = '{'; spec.dispatchEvent(new Event('input'));",
    )
    assert "TW103" in window.run(PLAY + "return play.querySelector('[data-problems]').textContent")


def test_the_playground_before_python_is_loaded(window: Browser, site: str) -> None:
    window.open(site + "playground.html")
    assert window.run(PLAY + "return !play.dataset.ready && play.querySelectorAll('.tx-row').length") > 8
    tabs = "const tabs = [...play.querySelectorAll('[role=tab]')]; "
    window.run(PLAY + tabs + "tabs[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));")
    shown = "return tabs.map((tab) => !document.getElementById(tab.getAttribute('aria-controls')).hidden)"
    assert window.run(PLAY + tabs + shown) == [False, True]


def test_custom_spec_reads_bytes_and_a_candidate_is_a_button(window: Browser, site: str) -> None:
    window.open(site + "playground.html")
    window.wait(PLAY + "return play.dataset.ready && +play.dataset.answered", seconds=120)
    ask(window, "play.querySelector('[data-tab=spec]').click();")
    window.run(PLAY + """const own = play.querySelector('[data-own]');
        own.value = '00 00 00 00 00 00 00 07 02 61 00 00'; own.dispatchEvent(new Event('input'));""")
    window.wait(PLAY + "return play.querySelector('[data-own-tree] .tx-row')")
    ask(window, "location.hash = '#hex=00000000000000000000000100';")
    assert "Read as hex: 13 bytes" in window.run(PLAY + "return play.querySelector('[data-read]').textContent")
    ask(window, "play.querySelector('[data-candidates] button').click();")
    assert window.run(PLAY + "return play.querySelector('[data-kind]').value") == "response"
    assert window.errors() == []


@pytest.fixture
def page(tmp_path: Path) -> str:
    names = [f"topic-{number}" for number in range(10_000)]
    data = messages.DeleteTopicsRequest(topic_names=names, timeout_ms=77).encode(1).hex()
    path = tmp_path / "page.html"
    path.write_text(explained("--html", "--hex", "DeleteTopicsRequest", "1", stdin=data), encoding="utf-8")
    return path.as_uri()


def search(window: Browser, words: str) -> None:
    window.run(
        """const input = document.querySelector('input');
        input.value = arguments[0]; input.dispatchEvent(new Event('input'));""",
        words,
    )


@pytest.mark.parametrize("width", [500, 900, 1280])
def test_ten_thousand_fields(window: Browser, page: str, width: int) -> None:
    window.resize(width, 800)
    window.open(page)
    assert window.errors() == []
    assert window.run("return document.querySelectorAll('.tx-row').length") < 200
    value = window.run("""const rows = [...document.querySelectorAll('.tx-row')];
        const value = rows.find((each) => each.dataset.path === 'topic_names[3]').querySelector('.tx-value');
        return [value.textContent, value.getBoundingClientRect().left, document.documentElement.scrollWidth];""")
    assert value[0] == "'topic-3'" and value[1] < width - 80 and value[2] <= width
    spent = window.run("""const pane = document.querySelector('.tx-tree'), begin = performance.now();
        for (let top = 0; top < 20; top += 1) { pane.scrollTop = top * 11000; pane.dispatchEvent(new Event('scroll')); }
        return performance.now() - begin;""")
    assert spent < 2_000
    search(window, "topic-9999")
    window.wait(
        "return [...document.querySelectorAll('.tx-row')].some((each) => each.dataset.path === 'topic_names[9999]')"
    )
    assert window.run("return document.querySelector('[role=status]').textContent") == "1 field"
    window.run("document.querySelector('.tx-tree .tx-active').click()")
    assert window.run("return document.querySelector('.tx-path').textContent") == "topic_names[9999]"
    lit = window.wait("""const lit = [...document.querySelectorAll('.tx-hex .tx-on')];
        return lit.map((each) => each.textContent).join(' ');""")
    assert bytes.fromhex(lit)[2:] == b"topic-9999"
    window.run(
        "[...document.querySelectorAll('button')].find((each) => each.textContent === 'Collapse arrays').click()"
    )
    search(window, "")
    window.wait("return document.querySelectorAll('.tx-row').length === 3")
