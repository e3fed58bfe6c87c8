import datetime
from typing import Any

import pytest

from tagwire.versions import Versions
from tagwire_generator.evolution import Finding
from tagwire_generator.project.exemptions import Exemption, judge

TODAY = datetime.date(2026, 6, 15)
FINDING = Finding(
    rule="TW903", severity="wire", message_name="R", versions="1-2", path="a.b", message="the type was x and is now y"
)


def exemption(**changes: Any) -> Exemption:
    keys: dict[str, Any] = {"rule": "TW903", "message": "R", "reason": "unused", "until": None}
    return Exemption(**keys | changes)


DAY = datetime.timedelta(1)
EXCUSING = [{}, {"path": "a.b"}, *({"versions": Versions.parse(each)} for each in ("1-2", "0+"))]
OTHERS = [{"path": "a"}, {"path": ""}, {"versions": Versions.parse("2")}, {"rule": "TW904"}, {"message": "Q"}]


@pytest.mark.parametrize(
    ("changes", "excuses"),
    [
        *((each, True) for each in (*EXCUSING, {"until": TODAY}, {"until": TODAY + DAY})),
        *((each, False) for each in (*OTHERS, {"until": TODAY - DAY})),
    ],
)
def test_findings_that_an_exception_excuses(changes: dict[str, Any], excuses: bool) -> None:
    judged = judge([FINDING], [exemption(**changes)], TODAY)
    assert (judged.findings, len(judged.excused)) == (() if excuses else (FINDING,), int(excuses))
    assert bool(judged.warnings) is not excuses


def test_a_finding_without_versions_fits_no_versions() -> None:
    finding = Finding(rule="TW903", severity="wire", message_name="R", versions="", path="", message="")
    assert not judge([finding], [exemption(versions=Versions.parse("0+"))], TODAY).excused


def test_problems_of_exception_entries() -> None:
    expired = exemption(until=datetime.date(2026, 1, 31), reason="only for now")
    idle = exemption(rule="TW904", path="c")
    assert judge([FINDING], [expired, idle], TODAY).warnings == (
        "the exception for TW903 in R (only for now) expired on 2026-01-31",
        "the exception for TW904 in R c (unused) excuses nothing; remove it",
    )


def test_second_entry_replaces_an_expired_entry() -> None:
    judged = judge([FINDING], [exemption(until=datetime.date(2026, 1, 31)), exemption()], TODAY)
    assert (len(judged.excused), judged.warnings) == (1, ())


def test_entries_of_messages_that_were_not_compared_are_not_idle() -> None:
    assert judge([], [exemption()], TODAY, {"Q"}).warnings == ()
    assert len(judge([], [exemption()], TODAY, {"R"}).warnings) == 1
    assert len(judge([], [exemption(message="Typo")], TODAY).warnings) == 1
