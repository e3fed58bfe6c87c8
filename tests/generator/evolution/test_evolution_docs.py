import re
from pathlib import Path

from tagwire_generator.problems import CHANGE_RULES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "evolution.md").read_text("utf-8")


def test_the_table_of_rules_is_complete() -> None:
    rows = re.findall(r"^\| (TW\d{3}) \| (\w+) \| (.+) \|$", PAGE, re.M)
    assert rows == [(rule.id, rule.severity, rule.title) for rule in CHANGE_RULES.values()]


def test_each_twenty_ids_are_of_one_severity_and_in_order() -> None:
    assert list(CHANGE_RULES) == sorted(CHANGE_RULES)
    expected = {(0, "wire"), (1, "semantic"), (2, "source"), (3, "policy")}
    assert {(int(id[3:]) // 20, rule.severity) for id, rule in CHANGE_RULES.items()} == expected


def test_rules_that_the_page_names_exist() -> None:
    assert set(re.findall(r"\bTW\d{3}\b", PAGE)) <= set(CHANGE_RULES)
