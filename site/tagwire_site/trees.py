"""Create the JSON of field trees. On pages, `site.js` shows the trees with the script of `tagwire explain --html`."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from tagwire.explain.html import Unit, tree_of
from tagwire.explain.trace import Trace
from tagwire.sensitive import showing_sensitive

__all__ = ["Sample", "samples_json"]


class Sample(NamedTuple):
    """Sample bytes to show as a field tree."""

    title: str
    """The title in the list from which a reader selects a sample."""
    source: str
    """Where the bytes come from, in words."""
    traces: Sequence[Trace]
    link: str = ""
    """The URL fragment that opens these bytes in the playground."""


def samples_json(samples: Sequence[Sample]) -> str:
    """Return samples as JSON for a script element. `<` is escaped, so that no value can end the element."""
    rows: list[dict[str, Any]] = []
    with showing_sensitive():  # all bytes on the site are public, so they contain no secrets
        for sample in samples:
            row = {"title": sample.title, "source": sample.source, "link": sample.link}
            rows.append(row | {"tree": tree_of([Unit([], sample.traces)])})
    return json.dumps(rows, separators=(",", ":")).replace("<", "\\u003c")
