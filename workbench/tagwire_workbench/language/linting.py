"""What `tagwire lint` finds, at its places in texts that an editor has."""

import datetime
from collections.abc import Callable, Iterable, Sequence

from tagwire_generator.diagnostics.problems import Problem
from tagwire_generator.model import MessageSpec
from tagwire_generator.project.exemptions import judge
from tagwire_generator.project.settings import Settings
from tagwire_generator.reading.places import placed
from tagwire_workbench.designs.findings import Finding
from tagwire_workbench.designs.lint import chosen


def lint_problems(
    findings: Iterable[Finding], specs: Sequence[MessageSpec], settings: Settings, text_of: Callable[[str], str]
) -> list[Problem]:
    """The findings about these specs that the settings ask for and do not excuse; `text_of` gives a file's text."""
    wanted = chosen(findings, specs, settings.lint)
    left = judge(wanted, settings.design_exemptions, datetime.date.today(), ()).findings
    texts = {file: text_of(file) for file in {finding.file for finding in left}}
    return [finding.problem() for finding in placed(left, texts)]
