"""`tagwire rule`: explain the rules for specs, changes to specs, spec designs, and logs."""

import textwrap

import click

from tagwire_cli.arguments import completion
from tagwire_cli.output.echo import say


@click.command("rule")
@click.argument("rule_id", metavar="[ID]", required=False, shell_complete=completion.rules)
def command(rule_id: str | None) -> None:
    """Explain rule ID with an example, or list all rules.

    TW001 to TW899 check specs. Errors stop generation, warnings do not. TW901 and
    up check changes of specs (`tagwire breaking`); the severity shows what a change
    breaks. TL rules check designs (`tagwire lint` and `tagwire collide`). TWL rules
    check logs (`tagwire log verify`). Examples show only the keys or fields of a
    spec that matter for the rule.

    \b
    Examples:
      tagwire rule TW608
      tagwire rule | grep tag
    """
    from tagwire.log.errors import RULES as LOG_RULES
    from tagwire_generator.problems import ALL_RULES
    from tagwire_generator.rule_examples import EXAMPLES, example_lines

    if rule_id is not None and rule_id.upper() in LOG_RULES:
        say(f"{rule_id.upper()}: {LOG_RULES[rule_id.upper()]}")
        return
    if rule_id is None:
        for each in ALL_RULES.values():
            say(f"{each.id}  {each.severity:8}  {each.title}")
        for name, text in LOG_RULES.items():
            say(f"{name}  {'log':8}  {text}")
        return
    rule = ALL_RULES.get(rule_id.upper())
    if rule is None:
        raise click.BadParameter(f"there is no rule {rule_id!r}; `tagwire rule` lists all rules", param_hint="ID")
    say(f"{rule.id} ({rule.severity}): {rule.title}\n", lines=True)
    say(textwrap.fill(rule.explanation, 88), lines=True)
    example = EXAMPLES[rule.id]
    for title, text in (("released", example.old), ("bad", example.bad), ("good", example.good)):
        if text:
            say(f"\n{title}:\n" + textwrap.indent("\n".join(example_lines(text)), "    "), lines=True)
