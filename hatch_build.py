"""Bring the flat data folders into the wheel while hatchling makes it.

`templates/` and `message_specs/` lie at the top of the repository, where people
look for them; an installed generator finds them inside its own package
(`tagwire_generator.resources`). This is a hook and not `force-include` in
pyproject.toml, because that would leave orphans in editable installs too.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DATA = {
    "templates": "tagwire_generator/templates",
    "message_specs": "tagwire_generator/message_specs",
}


class DataBuildHook(BuildHookInterface[Any]):
    """Maps the data folders into the package, except in editable installs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects the files."""
        if version != "editable":
            root = Path(self.root)
            build_data["force_include"].update({str(root / source): target for source, target in DATA.items()})
