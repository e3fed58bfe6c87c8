"""Check that each value costs as many bits as the rules in `tagwire.plausibility` say."""

import pytest

from tagwire.explain.trace import trace
from tagwire.interpreter.schema import Field, Schema
from tagwire.plausibility import cost_of

INTEGER = Schema(Field("x", "int16"))
UUID = Schema(Field("x", "uuid"))
ROWS = Schema(Field("rows", [INTEGER]))


def cost(schema: Schema, hex: str) -> float:
    return cost_of(trace(schema.layout, bytes.fromhex(hex)))


@pytest.mark.parametrize(
    ("schema", "hex", "bits"),
    [
        # An integer n costs as many bits as the Elias delta code of abs(n) + 1. A negative integer costs 6 bits
        # more, but -1 costs only 3 bits.
        (INTEGER, "0000", 0 + 0 + 1),
        (INTEGER, "0007", 3 + 2 * 2 + 1),
        (INTEGER, "fff8", 3 + 2 * 2 + 7),
        (INTEGER, "ffff", 3),
        (UUID, "f81d4fae7dec41d0a76500a0c91e6bf6", 100),  # a UUID of version 4 is assumed to be random
        (UUID, "f81d4fae7dec11d0a76500a0c91e6bf6", 100),  # looks random: more than eight different bytes
        (UUID, "f81d4fae000000000000000000000000", 128 + 24),  # does not look random: only five different bytes
        (UUID, "0102030405060708" * 2, 128 + 24),  # does not look random: only eight different bytes
        (UUID, "0001020304050607080000000000" + "0000", 100),  # looks random: nine different bytes
        (UUID, "00" * 16, 2),
    ],
)
def test_values(schema: Schema, hex: str, bits: float) -> None:
    assert cost(schema, hex) == bits


def test_repeated_values() -> None:
    """The first repetition of a value in an array must cost one bit, and the second half a bit."""
    seven, one = cost(INTEGER, "0007"), cost(INTEGER, "0001")
    counts = cost(INTEGER, "0003") - cost(INTEGER, "0001")
    single = cost(ROWS, "00000001 0007")
    assert cost(ROWS, "00000003 0007 0007 0007") == single + counts + 2 * (1 + 1 / 2)
    assert cost(ROWS, "00000003 0007 0001 0007") == single + counts + (1 + 1 / 2) + one + seven
