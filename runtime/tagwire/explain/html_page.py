"""A self-contained HTML page with the bytes on one side and the tree of fields on the other.

The page contains the rows of the tree as JSON and the script that shows them (`tree.js`). Browsers without scripts
show the text of `annotate`. The content security policy allows only the page's own script and style sheet.
"""

import base64
import hashlib
from collections.abc import Callable, Iterator, Sequence
from html import escape
from importlib.resources import files
from itertools import islice
from typing import Final

from tagwire.explain.html_tree import Unit, tree_json, tree_of
from tagwire.explain.nodes import Node
from tagwire.explain.text import annotated_lines
from tagwire.text_format import printable

_LINES: Final = 2_000
"""The maximum number of text lines that browsers without scripts show."""
_OWN_STYLE: Final = """
html, body { height: 100%; margin: 0; background: #fff; }
@media (prefers-color-scheme: dark) { html, body { background: #15191d; color: #e4e8ec; } }
#explain { height: 100vh; height: 100dvh; border: 0; border-radius: 0; }
noscript pre { padding: 1rem; overflow-x: auto; }
"""


def component() -> tuple[str, str]:
    """Return the style sheet and the script of the tree. A comment in the script explains how to call it."""
    here = files("tagwire.explain")
    return here.joinpath("tree.css").read_text(encoding="utf-8"), here.joinpath("tree.js").read_text(encoding="utf-8")


def page(units: Sequence[Unit], note: Callable[[Node], str] | None = None) -> str:
    """Return an HTML page that shows the units. `note` returns the text to show beside a node, as in `annotate`."""
    style, script = component()
    style += _OWN_STYLE
    tree = tree_of(units, note)
    text = "\n".join(map(escape, _text_lines(units, note)))
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(tree["title"])}</title>
<style>{style}</style>
</head>
<body>
<main id="explain" data-tree="tree"></main>
<noscript><pre>{text}</pre></noscript>
<script type="application/json" id="tree">{tree_json(tree)}</script>
<script>{script}</script>
</body>
</html>
"""


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _text_lines(units: Sequence[Unit], note: Callable[[Node], str] | None) -> Iterator[str]:
    lines = _lines(units, note)
    yield from map(printable, islice(lines, _LINES))
    if next(lines, None) is not None:
        yield "and more"


def _lines(units: Sequence[Unit], note: Callable[[Node], str] | None) -> Iterator[str]:
    for unit in units:
        yield from (f"# {fact}" for fact in unit.facts)
        for trace in unit.traces:
            for line, row in annotated_lines(trace, note):
                if row is None or len(row.data) <= _LINES:
                    yield line
