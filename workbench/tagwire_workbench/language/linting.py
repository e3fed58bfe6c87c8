"""The findings of `tagwire lint`, at their positions in an editor's documents."""

import datetime
from collections.abc import Callable, Iterable, Sequence

from tagwire_generator.diagnostics.problems import Problem
from tagwire_generator.model import MessageSpec
from tagwire_generator.project.exemptions import judge
from tagwire_generator.project.settings import Settings
from tagwire_generator.reading.positions import placed
from tagwire_workbench.designs.findings import Finding
from tagwire_workbench.designs.lint import chosen


def lint_problems(
    findings: Iterable[Finding], specs: Sequence[MessageSpec], settings: Settings, text_of: Callable[[str], str]
) -> list[Problem]:
    """Return the findings on these specs after settings and exemptions; `text_of` returns a file's content."""
    wanted = chosen(findings, specs, settings.lint)
    left = judge(wanted, settings.design_exemptions, datetime.date.today(), ()).findings
    texts = {file: text_of(file) for file in {finding.file for finding in left}}
    return [finding.problem() for finding in placed(left, texts)]
