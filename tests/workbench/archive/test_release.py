import pytest

from tagwire_workbench.archive.release import mended

HEAD = '"type": "data", "name": "FooData", "validVersions": "0"'
WHOLE = HEAD + ', "flexibleVersions": "none", "fields": []'
MENDED = {"type": "data", "name": "FooData", "validVersions": "0", "flexibleVersions": "none", "fields": []}

REST = "after the end of the spec; a file contains one JSON object; it is ignored"
SECOND = "it is first set on line 1; the last one is used"
NOT_FLEXIBLE = "has no flexibleVersions; assuming none"


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (f"{{ {WHOLE} }}", []),
        (f"{{ {WHOLE} }}\n// the end\n", []),
        (f"{{ {WHOLE} }}\n}}\n", [f"line 2: unexpected '}}' {REST}"]),
        (f"{{\n{WHOLE} }} {{}} []", [f"line 2: unexpected '{{' {REST}"]),
        (f'{{ "name": "BarData", {WHOLE} }}', [f"line 1: duplicate key 'name'; {SECOND}"]),
        (f'{{ {HEAD}, "fields": [] }}', [NOT_FLEXIBLE]),
        (f'{{ {HEAD}, "fields": [],\n"fields": [] }}\n}}',
         [f"line 3: unexpected '}}' {REST}", f"line 2: duplicate key 'fields'; {SECOND}", NOT_FLEXIBLE]),
    ],
)  # fmt: skip
def test_slips_are_corrected_and_reported(text: str, notes: list[str]) -> None:
    tree, notes_found, errors = mended(text)
    assert errors == ()
    assert tree == MENDED
    assert list(notes_found) == notes


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", {"TW103"}),
        ("{} {}", {"TW113", "TW204"}),
        ("3 {}", {"TW109"}),
        (f"{{ {HEAD}, \"flexibleVersions\": \"often\" }} }}", {"TW201"}),
        # Besides slips, these specs have errors that can't be corrected.
        (f'{{ {WHOLE}, "fields": 7 }}', {"TW111"}),
        (f'{{ {WHOLE}, "fields": [{{"name": "A"}}] }}', {"TW113", "TW405"}),
        (f'{{ {WHOLE}, "name": {{}} }}', {"TW111"}),
        (f'{{ {HEAD}, "fields": [{{"name": "A", "type": "Nowhere", "versions": "0"}}] }}', {"TW204", "TW306"}),
    ],
)  # fmt: skip
def test_errors_are_not_corrected_as_slips(text: str, rules: set[str]) -> None:
    tree, notes, errors = mended(text)
    assert (tree, notes) == (None, ())
    assert {problem.rule for problem in errors} == rules
