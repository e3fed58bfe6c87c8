"""Evolution: what a new spec does to the versions that an old one released.

    specs --pairing--> pairs --layouts of each version--> differences --verdicts--> findings, with proofs

`compare_specs` is the door. `docs/evolution.md` has the rules and the reasons.
"""

from tagwire_generator.evolution.findings import SEVERITIES, Finding, FindingSeverity
from tagwire_generator.evolution.released import Edition, Released
from tagwire_generator.evolution.verdicts import compare_messages, compare_specs
from tagwire_generator.evolution.witness import Proof

__all__ = [
    "SEVERITIES",
    "Edition",
    "Finding",
    "FindingSeverity",
    "Proof",
    "Released",
    "compare_messages",
    "compare_specs",
]
