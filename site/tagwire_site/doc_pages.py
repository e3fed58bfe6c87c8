"""Convert the Markdown files of the repository to pages.

Links between these files become links between pages. Links to other files point to the repository on GitHub.
"""

import os.path
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from click.testing import CliRunner

import tagwire_messages
from tagwire.explain.trace import trace_request
from tagwire_cli.app import app
from tagwire_site.rendering import ROOT, render
from tagwire_site.trees import Sample, samples_json

__all__ = ["doc_pages", "relinked"]

_NAMED: Final = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    ".github/SECURITY.md": "security.md",
    ".github/CODE_OF_CONDUCT.md": "conduct.md",
    "message_specs/README.md": "specs.md",
    "tests/data/captures/README.md": "captures.md",
}
"""The page for each Markdown file outside of `docs/`."""
_LINK: Final = re.compile(r"(?<=\]\()(?!#|[a-z]+:)([^)\s]+)(?=\))")
_COMMAND: Final = re.compile(r"^## tagwire ([\w -]+)\n\n.*\n", re.MULTILINE)
"""Matches a command's heading, and the first line of the command's help."""
_CARDS: Final = re.compile(r"(?:^\*\*[^*]+\.\*\* (?:.+\n)+\n){6}", re.MULTILINE)
"""Matches the six paragraphs on the home page that begin with a bold title."""
_OUTPUT: Final = re.compile(r"(\$ tagwire explain ([0-9a-f]+)\n)(?:.*\n)*?```\n")
"""Matches the first command on the home page, with the bytes it explains, and its output to the end of the block."""
_FENCE: Final = re.compile(r"^ *```", re.MULTILINE)


def doc_pages(root: Path = ROOT) -> dict[str, str | bytes]:
    """Return the pages and images made from the repository's documents, by path in the site."""
    page_names = _NAMED | {f"docs/{path.name}": path.name for path in sorted((root / "docs").glob("*.*"))}
    pages: dict[str, str | bytes] = {}
    for source, page in page_names.items():
        data = (root / source).read_bytes()
        pages[page] = data
        if page.endswith(".md"):
            text = relinked(data.decode("utf-8"), source, page_names, _forge(root))
            pages[page] = _COMMAND.sub(_with_help, text) if page.startswith("cli-") else text
            if page == "index.md":
                pages[page] = _CARDS.sub(_with_cards, _OUTPUT.sub(_with_tree, text, count=1))
    return pages


def _with_help(heading: re.Match[str]) -> str:
    """Return a command's heading, followed by the whole output of `--help`."""
    words = heading[1].split()
    text = (
        CliRunner()
        .invoke(app, [*words, "--help"], prog_name="tagwire", terminal_width=100, max_content_width=100)
        .output
    )
    return f"{heading[0]}\n```text\n{text}```\n"


def _with_cards(paragraphs: re.Match[str]) -> str:
    cards = (each.replace("\n", "\n    ") for each in paragraphs[0].strip().split("\n\n"))
    return '<div class="grid cards" markdown>\n\n' + "".join(f"-   {each}\n\n" for each in cards) + "</div>\n\n"


def _with_tree(command: re.Match[str]) -> str:
    """Replace the output of the home page's first command with an interactive tree of the explained bytes."""
    seen = trace_request(tagwire_messages.registry, bytes.fromhex(command[2]))
    sample = Sample(f"{seen.message_name} v{seen.version}", "", [seen], f"hex={command[2]}")
    return f"{command[1]}```\n\n{render('home.jinja', samples=samples_json([sample]))}\n"


def _forge(root: Path) -> str:
    """Return the URL at which the repository's files can be read, ending in a slash."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return f"{project['urls']['Homepage']}/blob/main/"


def relinked(text: str, source: str, page_names: Mapping[str, str], forge: str) -> str:
    """Adjust the relative links of the document `source` to the site, except in code blocks.

    `page_names` maps the files of the site to their pages. Links to other files begin with the URL `forge`.
    """
    folder = PurePosixPath(source).parent

    def link(found: re.Match[str]) -> str:
        path, mark, anchor = found[0].partition("#")
        target = os.path.normpath(folder / path).replace(os.sep, "/")
        if target in page_names:
            here = PurePosixPath(page_names[source]).parent
            return f"{os.path.relpath(page_names[target], here)}{mark}{anchor}".replace(os.sep, "/")
        return f"{forge}{target}{mark}{anchor}"

    parts = _FENCE.split(text)
    parts[::2] = [_LINK.sub(link, part) for part in parts[::2]]
    return "```".join(parts)
