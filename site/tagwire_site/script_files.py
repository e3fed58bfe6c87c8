"""Scripts and styles of the site: its own, the field tree of `tagwire explain --html`, and files from npm."""

import shutil
from pathlib import Path
from typing import Final

from tagwire.explain.html_page import component
from tagwire_site.rendering import FOLDER

__all__ = ["localized", "script_files"]

_SHIM: Final = "https://unpkg.com/iframe-worker/shim"
"""A script that Zensical's pages load from elsewhere, for search in pages opened as files."""


def script_files() -> dict[str, str | bytes]:
    """Return the files of `site/assets` and `site/pages`, and the tree's, by path in the site."""
    style, script = component()
    files: dict[str, str | bytes] = {"assets/tree.css": style, "assets/tree.js": script}
    for path in sorted((FOLDER / "assets").iterdir()):
        files[f"assets/{path.name}"] = path.read_bytes()
    for path in sorted((FOLDER / "pages").iterdir()):
        files[path.name] = path.read_bytes()
    return files


def localized(site: Path, npm: Path) -> None:
    """Make the pages load from the site what they would otherwise load from other hosts."""
    [shim] = (npm / "iframe-worker" / "shim").glob("index.js")
    shutil.copy(shim, site / "assets" / "iframe-worker.js")
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if _SHIM in text:
            up = "../" * (len(page.relative_to(site).parts) - 1)
            page.write_text(text.replace(_SHIM, f"{up}assets/iframe-worker.js"), encoding="utf-8")
