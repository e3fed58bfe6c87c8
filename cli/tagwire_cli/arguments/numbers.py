"""Numbers in what a person types."""

__all__ = ["whole_number"]


def whole_number(text: str) -> int | None:
    """The number that a text is: ASCII digits, fewer than 20 of them. None for any other text.

    `int` takes digits of other scripts, signs, blanks and underscores as well, and raises for thousands of digits.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
