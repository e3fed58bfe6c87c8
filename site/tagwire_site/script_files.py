"""Collect the scripts and styles of the site: its own, those of the field tree, and files from npm.

The field tree is the one that `tagwire explain --html` shows.
"""

import json
import shutil
from pathlib import Path
from typing import Final

from tagwire.explain.html import component
from tagwire.records import format_names
from tagwire_site.playground import explain
from tagwire_site.rendering import FOLDER

__all__ = ["localized", "script_files"]

FIRST: Final = "000c0004000000070003646f6300026700000003026d0000"
"""The bytes of the first example in `playground.js`, in hex."""
_SHIM: Final = "https://unpkg.com/iframe-worker/shim"
"""The URL of a script that Zensical's pages load, so that search works if the pages are opened as files."""


def script_files() -> dict[str, str | bytes]:
    """Return the files of `site/assets` and `site/pages`, and those of the field tree, by path in the site."""
    style, script = component()
    files: dict[str, str | bytes] = {"assets/tree.css": style, "assets/tree.js": script}
    for path in sorted((FOLDER / "assets").iterdir()):
        files[f"assets/{path.name}"] = path.read_bytes()
    options = "".join(f"<option>{each}</option>" for each in ("auto", *format_names()))
    for path in sorted((FOLDER / "pages").iterdir()):
        text = path.read_text(encoding="utf-8").replace("FORMAT_OPTIONS", options)
        files[path.name] = text.replace("FIRST_EXAMPLE", _first_example())
    return files


def _first_example() -> str:
    """Return a script element with the explanation of the first example, which is shown while Python loads."""
    found = json.dumps(explain(text=FIRST), separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="tw-first">{found}</script>'


def localized(site: Path, npm: Path) -> None:
    """Copy scripts that pages load from other hosts to the site, and change the pages to load the copies."""
    [shim] = (npm / "iframe-worker" / "shim").glob("index.js")
    shutil.copy(shim, site / "assets" / "iframe-worker.js")
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if _SHIM in text:
            up = "../" * (len(page.relative_to(site).parts) - 1)
            page.write_text(text.replace(_SHIM, f"{up}assets/iframe-worker.js"), encoding="utf-8")
