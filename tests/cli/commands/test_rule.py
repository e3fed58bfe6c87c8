import pytest
from command import tagwire_outcome


@pytest.mark.parametrize("rule", ["tl2", "TW6008", "TWL999"])
def test_an_unknown_rule(rule: str) -> None:
    code, _, err = tagwire_outcome("rule", rule)
    assert code == 2 and f"there is no rule '{rule}'; `tagwire rule` lists all rules" in err
