"""Create a page for each public module, on which mkdocstrings renders the documentation of the names in `__all__`."""

from importlib import import_module
from typing import Final

from tagwire_site.rendering import render

__all__ = ["MODULES", "api_pages"]

MODULES: Final = (
    "tagwire",
    "tagwire.records",
    "tagwire.log",
    "tagwire.arrow",
    "tagwire.testing",
    "tagwire_workbench.fuzzing.corpus",
    "tagwire.testing.peer",
    "tagwire.message",
    "tagwire.wire",
    "tagwire_spark",
    "tagwire_generator.testing",
)


def api_pages() -> dict[str, str]:
    """Return the page of each module, and a page that lists them, by path in the site."""
    modules = [(name, (import_module(name).__doc__ or "").split("\n\n")[0]) for name in MODULES]
    pages = {f"api/{name}.md": render("api.md.jinja", name=name) for name, _ in modules}
    pages["api/index.md"] = render("apis.md.jinja", modules=modules)
    return pages
