import copy
import pickle
from typing import Any

import pytest
from sample_messages.poll import PollRequest, PollTopic

from tagwire.errors import LimitError
from tagwire.limits import DEFAULT_LIMITS, Limits, LimitsError

MESSAGE = PollRequest(
    topics=[PollTopic(name="a", partitions=[1, 2, 3], unknown_tags={9: b"xyz"}), PollTopic(name="b")],
    unknown_tags={70: b"12", 71: b""},
)
DATA = MESSAGE.encode(2)


@pytest.mark.parametrize(
    ("limit", "needed", "path"),
    [
        ("bytes", len(DATA), ""),
        ("depth", 2, "topics[0]"),
        ("elements", 5, "topics[0].partitions"),
        ("unknown_tags", 3, "unknown_tags[71]"),
        ("unknown_tag_bytes", 5, "unknown_tags[70]"),
    ],
)
def test_each_bound_is_exact(limit: str, needed: int, path: str) -> None:
    exact: dict[str, Any] = {limit: needed}
    assert PollRequest.decode(DATA, 2, limits=Limits(**exact)) == MESSAGE
    with pytest.raises(LimitError, match=rf"at most {needed - 1} \(Limits.{limit}\)") as caught:
        PollRequest.decode(DATA, 2, limits=Limits(**{limit: needed - 1}))
    assert caught.value.path == path
    assert 0 <= caught.value.offset <= len(DATA)


@pytest.mark.parametrize("limit", [-1, True, 1.5, "x", -(2**70)])
@pytest.mark.parametrize("name", ["elements", "decompression_ratio"])
def test_negative_and_non_integer_limits_are_rejected(name: str, limit: Any) -> None:
    with pytest.raises(LimitsError, match=f"Limits.{name}: expected an integer"):
        Limits(**{name: limit})
    assert PollRequest.decode(DATA, 2, limits=Limits(**{name: 2**70})) == MESSAGE


def test_a_limit_holds_for_lenient_reading_too() -> None:
    with pytest.raises(LimitError):
        PollRequest.decode(DATA, 2, strict=False, limits=Limits(elements=1))


def test_limits_behave_like_values() -> None:
    limits = Limits(depth=3, bytes=100)
    assert repr(limits) == "Limits(bytes=100, depth=3)"
    assert repr(DEFAULT_LIMITS) == "Limits()"
    assert pickle.loads(pickle.dumps(limits)) == copy.copy(limits) == limits == Limits(bytes=100, depth=3)
    assert limits.__replace__(depth=None) == Limits(bytes=100)
    assert hash(limits) == hash(Limits(bytes=100, depth=3)) and limits != DEFAULT_LIMITS and limits != 3
    with pytest.raises(AttributeError, match="immutable"):
        limits.depth = 4
