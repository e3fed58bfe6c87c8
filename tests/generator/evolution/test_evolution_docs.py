"""docs/evolution.md and the file map say what there is."""

import re
from pathlib import Path

import tagwire_generator.evolution
from tagwire_generator.rules import CHANGE_RULES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "evolution.md").read_text("utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def test_the_table_of_rules_is_complete() -> None:
    rows = re.findall(r"^\| (TW\d{3}) \| (\w+) \| (.+) \|$", PAGE, re.M)
    assert rows == [(rule.id, rule.severity, rule.title) for rule in CHANGE_RULES.values()]


def test_each_twenty_ids_are_of_one_severity_and_in_order() -> None:
    assert list(CHANGE_RULES) == sorted(CHANGE_RULES)
    assert {(int(id[3:]) // 20, rule.severity) for id, rule in CHANGE_RULES.items()} == {
        (0, "wire"),
        (1, "semantic"),
        (2, "source"),
        (3, "policy"),
    }


def test_rules_that_the_page_names_exist() -> None:
    assert set(re.findall(r"\bTW\d{3}\b", PAGE)) <= set(CHANGE_RULES)


def test_the_map_has_every_module() -> None:
    section = ARCHITECTURE.partition("### generator/tagwire_generator/evolution\n")[2].partition("\n#")[0]
    cells = re.findall(r"^\| (.+) \| .+ \|$", section, re.M)
    folder = Path(tagwire_generator.evolution.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == modules
