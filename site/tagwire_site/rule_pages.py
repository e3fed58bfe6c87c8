"""Create a page for each group of rules. It shows every rule with a bad and a good example, like `tagwire rule`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tagwire.log.errors import RULES as LOG_RULES
from tagwire_generator.problems import CHANGE_RULES, DESIGN_RULES, RULES
from tagwire_generator.rule_examples import EXAMPLES, example_lines
from tagwire_site.rendering import render

__all__ = ["ShownRule", "rule_pages"]


@dataclass(frozen=True)
class ShownRule:
    """A rule with its examples, each a title (such as "Bad") and a text."""

    id: str
    severity: str
    title: str
    explanation: str
    examples: tuple[tuple[str, str], ...]


def rule_pages() -> dict[str, str]:
    """Return the page of each group of rules, and a page that lists them, by path in the site."""
    groups = (
        ("specs", "specs", "Errors stop generation, warnings do not.", _shown_rules(RULES)),
        (
            "changes",
            "changes",
            "`tagwire breaking` compares specs with those that were released.",
            _shown_rules(CHANGE_RULES),
        ),
        (
            "designs",
            "designs",
            "`tagwire lint` and `tagwire collide` report what designs cost.",
            _shown_rules(DESIGN_RULES),
        ),
        ("logs", "logs", "`tagwire log verify` checks segments.", _logs(LOG_RULES)),
    )
    pages = {
        f"rules/{name}.md": render("rules.md.jinja", title=f"Rules about {title}", about=about, rules=rules)
        for name, title, about, rules in groups
    }
    pages["rules/index.md"] = render("rule_groups.md.jinja", groups=groups)
    return pages


def _shown_rules(rules: Mapping[str, Any]) -> list[ShownRule]:
    return [
        ShownRule(rule.id, str(rule.severity), rule.title, rule.explanation, tuple(_examples(rule.id)))
        for rule in rules.values()
    ]


def _examples(rule_id: str) -> Iterable[tuple[str, str]]:
    example = EXAMPLES[rule_id]
    for title, text in (("Released", example.old), ("Bad", example.bad), ("Good", example.good)):
        if text:
            yield title, "\n".join(example_lines(text))


def _logs(rules: Mapping[str, str]) -> list[ShownRule]:
    return [ShownRule(name, "log", text, "", ()) for name, text in rules.items()]
