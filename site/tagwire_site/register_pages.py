"""Create a page for each register, with its numbers, their names, and who assigns them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tagwire.errors import SpecError
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.project.spec_files import find_specs
from tagwire_generator.reading.spec import read_data
from tagwire_site.rendering import ROOT, render

__all__ = ["register_pages", "registers"]

FOLDER: Final = ROOT / "message_specs" / "registries"


def registers(folder: Path = FOLDER) -> Iterator[RegisterSpec]:
    """Yield all registers in a folder. Raises SpecError for an invalid register."""
    for spec in find_specs(folder):
        result = read_data(spec.path.read_bytes(), file=spec.path.name, component=spec.component)
        if result.register is None:
            raise SpecError(
                f"{spec.path}: expected the spec of a register; problems: {result.problems}", file=str(spec.path)
            )
        yield result.register


def register_pages() -> dict[str, str]:
    """Return the page of each register, and a page that lists them, by path in the site."""
    found = sorted(registers(), key=lambda each: each.name)
    pages = {f"registers/{each.name}.md": render("register.md.jinja", register=each) for each in found}
    pages["registers/index.md"] = render("registers.md.jinja", registers=found)
    return pages
