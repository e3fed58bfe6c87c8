import pytest

from tagwire_workbench.whatif import scale_of


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        ([3.1, 17.0], [0, 5, 10, 15, 20]),
        ([-0.21, 0.27], [-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3]),
        ([-5], [-5, -4, -3, -2, -1, 0]),
        ([294_894], [0, 100_000, 200_000, 300_000]),
    ],
)
def test_axes_have_round_ticks_and_room(values: list[float], ticks: list[float]) -> None:
    scale = scale_of(values, "bytes")
    assert scale.ticks == ticks
    assert [position for position, _ in scale.labels()][:: len(ticks) - 1] == [0, 100]
    for value in values:
        bar = scale.bar("compressed", value, "")
        assert 0 <= bar.left <= bar.left + bar.width <= 100.01 and bar.is_loss == (value < 0)
