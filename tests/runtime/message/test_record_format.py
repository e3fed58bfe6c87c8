import pytest

from tagwire.layout import Condition
from tagwire.message.record_format import Framing

WHEN = Condition("attributes", 1, 0)


@pytest.mark.parametrize(
    ("framing", "shown"),
    [
        (Framing(), "Framing()"),
        (Framing(length="int32", equals=0), "Framing(length='int32', equals=0)"),
        (Framing(bits=(), rewritten=True), "Framing(rewritten=True)"),
        (Framing(when=WHEN), "Framing(when=Condition(field='attributes', mask=1, equals=0))"),
    ],
)
def test_only_arguments_that_differ_from_their_defaults_are_shown(framing: Framing, shown: str) -> None:
    assert repr(framing) == shown
    assert framing.replace() == framing and framing.replace(length="x") == framing.replace(length="x").replace()
