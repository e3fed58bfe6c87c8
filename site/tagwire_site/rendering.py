"""Render the site's templates, which produce Markdown and HTML. All values are escaped for HTML."""

from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

__all__ = ["FOLDER", "ROOT", "render"]

FOLDER: Final = Path(__file__).parents[1]
"""The folder `site` of the repository."""
ROOT: Final = FOLDER.parent
"""The top folder of the repository."""


def render(template: str, **values: Any) -> str:
    """Render a template in `site/templates` with these values. Raises jinja2.TemplateError if that fails."""
    text: str = _environment().get_template(template).render(**values)
    return text


@lru_cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
