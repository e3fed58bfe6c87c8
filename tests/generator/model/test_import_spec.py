import pytest

from tagwire.versions import HIGHEST, StructVersions, Versions
from tagwire_generator.model.import_spec import united

Ranges = dict[tuple[int, int], int]
"""Maps a version range (first, last) of the importing spec to the version of the struct that it uses."""


def versions(ranges: Ranges) -> StructVersions:
    return StructVersions(tuple((Versions(*each), number) for each, number in ranges.items()))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({(0, HIGHEST): 0}, {(0, HIGHEST): 0}, {(0, HIGHEST): 0}),
        ({(0, 1): 0, (2, HIGHEST): 1}, {(4, HIGHEST): 1}, {(0, 1): 0, (2, HIGHEST): 1}),
        ({(0, 1): 0, (2, HIGHEST): 1}, {(1, 1): 0, (2, HIGHEST): 1}, {(0, 1): 0, (2, HIGHEST): 1}),
        ({(0, 3): 0, (4, HIGHEST): 2}, {(4, 6): 2, (7, HIGHEST): 2}, {(0, 3): 0, (4, HIGHEST): 2}),
        ({(0, 1): 0, (2, HIGHEST): 1}, {(0, 2): 0, (3, HIGHEST): 1}, 2),
        ({(0, HIGHEST): 1}, {(5, HIGHEST): 0}, 5),
    ],
)
def test_version_ranges_of_two_imports_are_merged(one: Ranges, other: Ranges, expected: Ranges | int) -> None:
    found = versions(expected) if isinstance(expected, dict) else expected
    assert united(versions(one), versions(other)) == united(versions(other), versions(one)) == found
