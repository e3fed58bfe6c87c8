"""The documents of the repository as pages. Links between them stay; links to other files go to the forge."""

import os.path
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from click.testing import CliRunner

from tagwire_cli.app import app
from tagwire_site.rendering import ROOT

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
"""Pages outside `docs/`, by file."""
_LINK: Final = re.compile(r"(?<=\]\()(?!#|[a-z]+:)([^)\s]+)(?=\))")
_COMMAND: Final = re.compile(r"^## tagwire ([\w -]+)\n\n.*\n", re.MULTILINE)
"""The heading of a command, and the first line of its help."""
_FENCE: Final = re.compile(r"^ *```", re.MULTILINE)


def doc_pages(root: Path = ROOT) -> dict[str, str | bytes]:
    """Return the pages and pictures by path in the site."""
    places = _NAMED | {f"docs/{path.name}": path.name for path in sorted((root / "docs").glob("*.*"))}
    pages: dict[str, str | bytes] = {}
    for source, place in places.items():
        data = (root / source).read_bytes()
        pages[place] = data
        if place.endswith(".md"):
            text = relinked(data.decode("utf-8"), source, places, _forge(root))
            pages[place] = _COMMAND.sub(_with_help, text) if place.startswith("cli-") else text
    return pages


def _with_help(heading: re.Match[str]) -> str:
    """Return a command's heading and its help."""
    words = heading[1].split()
    text = (
        CliRunner()
        .invoke(app, [*words, "--help"], prog_name="tagwire", terminal_width=100, max_content_width=100)
        .output
    )
    return f"{heading[0]}\n```text\n{text}```\n"


def _forge(root: Path) -> str:
    """Return the public URL of the repository's files."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return f"{project['urls']['Homepage']}/blob/main/"


def relinked(text: str, source: str, places: Mapping[str, str], forge: str) -> str:
    """Return a document with relative links adjusted to the site; code blocks don't change."""
    folder = PurePosixPath(source).parent

    def link(found: re.Match[str]) -> str:
        path, mark, anchor = found[0].partition("#")
        target = os.path.normpath(folder / path).replace(os.sep, "/")
        if target in places:
            here = PurePosixPath(places[source]).parent
            return f"{os.path.relpath(places[target], here)}{mark}{anchor}".replace(os.sep, "/")
        return f"{forge}{target}{mark}{anchor}"

    parts = _FENCE.split(text)
    parts[::2] = [_LINK.sub(link, part) for part in parts[::2]]
    return "```".join(parts)
