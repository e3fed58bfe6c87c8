"""Scripts and styles of the site: its own, the field tree of `tagwire explain --html`, and files from npm."""

import json
import shutil
from pathlib import Path
from typing import Final

from tagwire.explain.html_page import component
from tagwire_site.playground import explain
from tagwire_site.rendering import FOLDER

__all__ = ["localized", "script_files"]

FIRST: Final = "000c0004000000070003646f6300026700000003026d0000"
"""The first example of `playground.js`."""
_SHIM: Final = "https://unpkg.com/iframe-worker/shim"
"""A script that Zensical's pages load from elsewhere, for search in pages opened as files."""


def script_files() -> dict[str, str | bytes]:
    """Return the files of `site/assets` and `site/pages`, and the tree's, by path in the site."""
    style, script = component()
    files: dict[str, str | bytes] = {"assets/tree.css": style, "assets/tree.js": script}
    for path in sorted((FOLDER / "assets").iterdir()):
        files[f"assets/{path.name}"] = path.read_bytes()
    for path in sorted((FOLDER / "pages").iterdir()):
        files[path.name] = path.read_text(encoding="utf-8").replace("FIRST_EXAMPLE", _first_example())
    return files


def _first_example() -> str:
    """Return the playground's answer to its first example, which it shows while Python loads."""
    found = json.dumps(explain(text=FIRST), separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="tw-first">{found}</script>'


def localized(site: Path, npm: Path) -> None:
    """Make the pages load from the site what they would otherwise load from other hosts."""
    [shim] = (npm / "iframe-worker" / "shim").glob("index.js")
    shutil.copy(shim, site / "assets" / "iframe-worker.js")
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if _SHIM in text:
            up = "../" * (len(page.relative_to(site).parts) - 1)
            page.write_text(text.replace(_SHIM, f"{up}assets/iframe-worker.js"), encoding="utf-8")
