"""The losses of a log conversion, counted by field and reason, not listed by record."""

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from tagwire.records import RecordLoss
from tagwire.text_format import shown

_INDEX: Final = re.compile(r"\[\d+\]")


class LossRow(NamedTuple):
    """One kind of loss: the field, such as `records[].headers[]`, the reason, the count, and the first location."""

    path: str
    reason: str
    times: int
    file: str
    """The segment of the first loss; below, the position of its batch, and the lost value."""
    position: int
    value: str


class LossReport:
    """Losses, counted by field and reason."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], LossRow] = {}

    def add(self, losses: Iterable[RecordLoss], file: str, position: int) -> None:
        """Count the losses of a batch."""
        for loss in losses:
            self.add_row(LossRow(_INDEX.sub("[]", loss.path), loss.reason, 1, file, position, shown(loss.value)))

    def merge(self, other: "LossReport") -> None:
        """Add the counts of another report."""
        for row in other.rows():
            self.add_row(row)

    def add_row(self, row: LossRow) -> None:
        known = self._rows.get((row.path, row.reason))
        self._rows[row.path, row.reason] = row if known is None else known._replace(times=known.times + row.times)

    def rows(self) -> list[LossRow]:
        """Return the rows, the most frequent loss first."""
        return sorted(self._rows.values(), key=lambda row: (-row.times, row.path, row.reason))

    def to_json(self) -> list[dict[str, Any]]:
        return [row._asdict() for row in self.rows()]

    def __len__(self) -> int:
        return len(self._rows)
