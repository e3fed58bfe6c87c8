import pytest

from tagwire_workbench.language.text_positions import Encoding, Position, TextPositions

TEXT = 'a\n"\N{GRINNING FACE}\N{LATIN SMALL LETTER E WITH ACUTE}x"\r\nb\rc'
# The characters of TEXT and their offsets:
# a 0, \n 1, " 2, the emoji 3, the accented letter 4, x 5, " 6, \r 7, \n 8, b 9, \r 10, c 11.


# In UTF-16, the emoji takes two units. A single \r also ends a line.
UTF_16 = {
    0: (0, 0),
    1: (0, 1),
    2: (1, 0),
    3: (1, 1),
    4: (1, 3),
    5: (1, 4),
    7: (1, 6),
    9: (2, 0),
    11: (3, 0),
    12: (3, 1),
}
UTF_8 = {4: (1, 5), 5: (1, 7)}  # the emoji takes four bytes, and the accented letter two


@pytest.mark.parametrize(
    ("encoding", "offset", "position"),
    [
        *(("utf-16", *each) for each in UTF_16.items()),
        *(("utf-8", *each) for each in UTF_8.items()),
        ("utf-32", 5, (1, 3)),
    ],
)
def test_positions(encoding: Encoding, offset: int, position: tuple[int, int]) -> None:
    positions = TextPositions(TEXT, encoding)
    assert positions.position(offset) == position
    assert positions.offset(Position(*position)) == offset


@pytest.mark.parametrize(
    ("position", "offset"), [((1, 2), 3), ((1, 99), 7), ((0, 99), 1), ((2, 7), 10), ((99, 0), 12), ((3, 99), 12)]
)
def test_positions_outside_the_text_are_clamped(position: tuple[int, int], offset: int) -> None:
    assert TextPositions(TEXT).offset(Position(*position)) == offset


@pytest.mark.parametrize(
    ("line", "column", "offset"), [(1, 1, 0), (2, 3, 4), (3, 1, 9), (3, 3, 11), (99, 1, 9), (0, 0, 0), (3, 99, 12)]
)
def test_problems_count_characters_and_line_feeds(line: int, column: int, offset: int) -> None:
    assert TextPositions(TEXT).of_problem(line, column) == offset
