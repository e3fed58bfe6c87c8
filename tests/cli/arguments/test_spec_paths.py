from pathlib import Path

import pytest

from tagwire_cli.arguments.spec_paths import spec_paths
from tagwire_generator.project.settings import load

SETS = "".join(
    f'[[tool.tagwire.sets]]\nspecs = "wire/{name}"\npackage = "{name}"\noutput = "src"\n' for name in ("old", "new")
)
BOTH = ["wire/old", "wire/new"]


@pytest.mark.parametrize(("settings", "paths", "expected"), [
    (SETS, [], BOTH),
    (SETS, ["."], BOTH), # JSON files next to pyproject.toml belong to no set
    (SETS, ["wire"], [*BOTH, "wire/Draft.json"]),
    (SETS, [".."], [*BOTH, "../Above.json"]),
    (SETS, ["wire/old"], ["wire/old"]),
    (SETS, ["wire", "wire/old"], [*BOTH, "wire/Draft.json"]),
    (SETS, ["wire/Draft.json", "other", "missing.json"], ["wire/Draft.json", "other", "missing.json"]),
    (SETS.replace("wire/", "-/"), ["-"], ["-"]), # `-` is standard input, even if a folder has this name
    ("", ["."], ["message_specs", "package.json"]),
])  # fmt: skip
def test_folders_are_replaced_by_their_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, paths: list[str], expected: list[str]
) -> None:
    root = tmp_path / "project"
    for folder in ("wire/old", "wire/new", "-/old", "message_specs", "other"):
        (root / folder).mkdir(parents=True)
    for file in ("../Above.json", "package.json", "wire/Draft.json", "wire/.hidden.json", "wire/old/Old.json"):
        (root / file).write_text("{}")
    (root / "pyproject.toml").write_text(settings)
    monkeypatch.chdir(root)
    assert spec_paths(load(root), paths) == expected
