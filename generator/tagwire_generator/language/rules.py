"""All rules whose findings an editor may show, by id."""

from typing import Any

from tagwire_generator.diagnostics.rule_catalogue import CHANGE_RULES, RULES, Rule

__all__ = ["rule_named"]


def rule_named(rule_id: str) -> Rule[Any] | None:
    """The rule of an id, about specs, changes or designs; None if there is none."""
    from tagwire_generator.designs.design_rules import DESIGN_RULES

    return RULES.get(rule_id) or CHANGE_RULES.get(rule_id) or DESIGN_RULES.get(rule_id)
