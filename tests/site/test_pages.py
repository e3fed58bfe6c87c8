import json
import re
from functools import lru_cache
from typing import Any

import pytest
from golden_files import FOLDER, read_file

import tagwire_messages as messages
from tagwire.explain.text import parse_annotated
from tagwire.frames.known_packages import record_format
from tagwire.records import format_names
from tagwire_generator.problems import CHANGE_RULES, RULES
from tagwire_generator.syntax.spec_schema import schema
from tagwire_generator.views.message_view import MessageView
from tagwire_site.doc_pages import doc_pages, relinked
from tagwire_site.format_pages import format_pages, layout_rows
from tagwire_site.message_pages import matrix, message_pages, message_views, snippet
from tagwire_site.proposal_pages import PROPOSALS, proposal_pages
from tagwire_site.register_pages import register_pages
from tagwire_site.rule_pages import rule_pages
from tagwire_site.schema_files import schema_files
from tagwire_site.script_files import script_files

NAMES = ("MetadataRequest", "FetchResponse", "ApiVersionsResponse", "SaslAuthenticateRequest", "TopicRecord")


@lru_cache
def views() -> dict[str, MessageView]:
    return {view.name: view for view in message_views()}


@lru_cache
def pages() -> dict[str, str]:
    return message_pages([views()[name] for name in NAMES])


def samples(page: str) -> list[Any]:
    texts = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    return [json.loads(text) for text in texts]


def test_the_schema_of_specs_is_published() -> None:
    [(path, data)] = schema_files().items()
    assert path == "spec.schema.json" and json.loads(data) == schema()


@pytest.mark.thorough
def test_every_message_has_a_view() -> None:
    assert sorted(views()) == sorted(messages.registry.names())


def test_matrix_shows_the_fields_of_each_version() -> None:
    rows = {row.path: row for row in matrix(views()["MetadataRequest"])}
    marks = {path: "".join(cell.mark or "." for cell in row.cells) for path, row in rows.items()}
    assert marks == {
        "topics": "●○○○○○○○○○○○○○",
        "topics.topic_id": "..........●●●●",
        "topics.name": "●●●●●●●●●●○○○○",
        "allow_auto_topic_creation": "....●●●●●●●●●●",
        "include_cluster_authorized_operations": "........●●●...",
        "include_topic_authorized_operations": "........●●●●●●",
    }
    assert rows["topics.name"].cells[9].title == "compact string"
    tagged = {row.path: row for row in matrix(views()["FetchResponse"])}["responses.partitions.diverging_epoch"]
    assert [cell.mark for cell in tagged.cells] == [""] * 12 + ["t0"] * 7


def test_a_page_says_what_a_message_is() -> None:
    page = pages()["messages/fetch_response.md"]
    assert "API key <b>1</b>" in page and 'request <a href="fetch_request.html">' in page
    assert re.search(r"<tr><td>12</td><td>2.7.2, redefined 2.8.2 to 4.4.0</td><td>1</td><td>flexible; adds", page)
    page = message_pages([views()["AlterPartitionRequest"]])["messages/alter_partition_request.md"]
    assert "earlier names <b>" in page


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_the_golden_bytes_of_each_version(name: str) -> None:
    view = views()[name]
    [found] = samples(pages()[f"messages/{view.module}.md"])
    goldens = list(read_file(FOLDER / f"{view.module}.txt"))
    assert [each["title"] for each in found] == [f"version {golden.version}" for golden in goldens]
    for each, golden in zip(found, goldens, strict=True):
        data = parse_annotated(golden.annotation)
        rows = each["tree"]["rows"]
        assert all(hex is not None for hex in rows["hex"])
        shown = "".join(hex for hex in rows["hex"] if isinstance(hex, str))
        assert shown == data.hex() or any(isinstance(hex, list) for hex in rows["hex"])
        assert each["link"] == f"message={name}&version={golden.version}&hex={data.hex()}"


@pytest.mark.parametrize("name", messages.registry.names()[::7])
def test_a_snippet_builds_the_bytes(name: str) -> None:
    cls = messages.registry[name]
    *_, golden = read_file(FOLDER / f"{views()[name].module}.txt")
    text = snippet(cls.from_json(golden.value, golden.version), golden.version)
    names: dict[str, Any] = {}
    exec(text, names)
    assert names["data"] == parse_annotated(golden.annotation), text


def test_documents_link_to_pages_and_to_the_forge() -> None:
    pages = {"docs/a.md": "a.md", "docs/b.md": "b.md", "README.md": "index.md", "specs/README.md": "specs.md"}
    text = "[b](b.md#x) [home](../README.md) [specs](../specs/README.md) [code](../x.py) [w](https://x.org) [here](#y)"
    expected = "[b](b.md#x) [home](index.md) [specs](specs.md) [code](F/x.py) [w](https://x.org) [here](#y)"
    assert relinked(text, "docs/a.md", pages, "F/") == expected
    assert relinked("```\n[b](../c.md)\n```\n", "docs/a.md", pages, "F/") == "```\n[b](../c.md)\n```\n"
    found = doc_pages()
    assert {"index.md", "cli.md", "changelog.md", "benchmarks.svg"} <= found.keys()
    assert "](docs/" not in str(found["index.md"])


def test_formats_registers_rules_and_proposals_have_pages() -> None:
    formats = format_pages()
    assert len(formats) == len(format_names()) + 1
    for name in format_names():
        page = formats[f"formats/{name.replace('+', '-')}.md"]
        [found] = samples(page)
        assert found[0]["link"].startswith(f"format={name}&hex=")
        assert all(f">{row.name}</th>" in page for row in layout_rows(record_format(name).layout().root))
    assert "UNKNOWN_TOPIC_OR_PARTITION" in register_pages()["registers/ErrorCode.md"]
    rules = rule_pages()
    assert all(f"## {each}: " in rules["rules/specs.md"] for each in RULES)
    assert all(f"## {each}: " in rules["rules/changes.md"] for each in CHANGE_RULES)
    proposals = proposal_pages(str(doc_pages()["proposals.md"]))
    assert len(proposals) == len(PROPOSALS) + 1
    assert "v2: 103" in proposals["proposals/smaller-batches.md"]


def test_nothing_of_the_site_s_own_is_loaded_from_elsewhere() -> None:
    for path, content in script_files().items():
        text = content if isinstance(content, str) else content.decode("utf-8", "replace")
        assert not re.search(r"""["'(]https?://""", text), path
