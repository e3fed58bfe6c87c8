"""Field trees on pages: JSON for the script of `tagwire explain --html`, which `site.js` mounts."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from tagwire.explain.html_tree import Unit, tree_of
from tagwire.explain.trace import Trace
from tagwire.sensitive import showing_sensitive

__all__ = ["Sample", "samples_json"]


class Sample(NamedTuple):
    """Sample bytes."""

    title: str
    """The title in the sample selector."""
    source: str
    """The origin of the bytes."""
    traces: Sequence[Trace]
    link: str = ""
    """The playground URL fragment for these bytes."""


def samples_json(samples: Sequence[Sample]) -> str:
    """Return the content of a script element of type application/json; nothing in it can end the element."""
    rows: list[dict[str, Any]] = []
    with showing_sensitive():  # all bytes of the site are public
        for sample in samples:
            row = {"title": sample.title, "source": sample.source, "link": sample.link}
            rows.append(row | {"tree": tree_of([Unit([], sample.traces)])})
    return json.dumps(rows, separators=(",", ":")).replace("<", "\\u003c")
