"""Find the changes in new specs that break released versions.

The old and new specs are paired, and the layouts of each version are compared. Each difference becomes a finding. If
the bytes of a message changed, the finding has a proof: a value that one side can't read.

Start at `compare_specs`. `docs/evolution.md` lists the rules and their reasons.
"""

from tagwire_generator.evolution.check import compare_messages, compare_specs
from tagwire_generator.evolution.findings import SEVERITIES
from tagwire_generator.evolution.matching import Edition, Released
from tagwire_generator.evolution.proofs import Proof
from tagwire_generator.problems import Finding

__all__ = [
    "SEVERITIES",
    "Edition",
    "Finding",
    "Proof",
    "Released",
    "compare_messages",
    "compare_specs",
]
