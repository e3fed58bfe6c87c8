import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwire.errors import TagwireError, VersionsError
from tagwire.versions import HIGHEST, Versions

RANGES = st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda pair: Versions(*pair))


@pytest.mark.parametrize(("text", "lowest", "highest", "canonical"), [
    ("none", 0, -1, "none"), ("0", 0, 0, "0"), ("3-3", 3, 3, "3"), ("1-12", 1, 12, "1-12"), ("9+", 9, HIGHEST, "9+"),
    ("0-32767", 0, HIGHEST, "0+"), (" 2-4 ", 2, 4, "2-4"), ("3-1", 0, -1, "none"),
    ("32767", HIGHEST, HIGHEST, "32767+"),
])  # fmt: skip
def test_texts_are_read_and_printed(text: str, lowest: int, highest: int, canonical: str) -> None:
    versions = Versions.parse(text)
    assert (versions.lowest, versions.highest, str(versions)) == (lowest, highest, canonical)
    assert Versions.parse(canonical) == versions


@pytest.mark.parametrize("text", ["", "None", "-1", "1-", "1 - 2", "1+2", "a", "32768", "1,2", "+", "٣", "1.0", "0x1"])
def test_other_texts_are_rejected(text: str) -> None:
    with pytest.raises(VersionsError, match="expected a version range"):
        Versions.parse(text)


@pytest.mark.parametrize("bounds", [(-1, 3), (0, HIGHEST + 1), (0.0, 3), (0, "3"), (None, None)])
def test_bounds_that_are_not_int16_are_rejected(bounds: tuple[int, int]) -> None:
    with pytest.raises(
        TagwireError, match=r"are not within 0 to 32767|versions: expected two ints, got values of type "
    ):
        Versions(*bounds)


@given(RANGES, RANGES)
def test_version_ranges_behave_like_sets(one: Versions, other: Versions) -> None:
    assert set(one & other) == set(one) & set(other)
    assert (one <= other) == (set(one) <= set(other))
    assert len(one) == len(set(one)) and bool(one) == bool(set(one))
    assert (one == other) == (set(one) == set(other))
    rest = set(one) - set(other)
    if rest and sorted(rest) != list(range(min(rest), max(rest) + 1)):
        with pytest.raises(VersionsError, match="leaves two ranges"):
            _ = one - other
    else:
        assert set(one - other) == rest


def test_immutable_hashable_and_copied_whole() -> None:
    versions = Versions(2, 5)
    with pytest.raises(AttributeError, match="immutable"):
        versions.lowest = 0
    assert {versions: 1}[Versions.parse("2-5")] == 1
    assert pickle.loads(pickle.dumps(versions)) == copy.deepcopy(versions) == versions
    assert eval(repr(versions)) == versions
    assert versions != "2-5"
