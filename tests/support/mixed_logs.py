"""Write logs whose batches have different formats, each with its own magic value."""

from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from tagwire.records import Record, build, format_of

DRAFTS = ("kip82-int", "kip82-int-signed", "kip82-int+kip87", "kip82-str", "kip87")
OLDER = dict.fromkeys(DRAFTS, ("v0", "v1")) | dict.fromkeys(("v3", "v3-zigzag"), ("v0", "v1", "v2"))


class Mixture(NamedTuple):
    """The formats of a test log: the format `named`, and one or more older formats."""

    named: str
    older: tuple[str, ...]

    @property
    def formats(self) -> list[str]:
        """The formats of the batches: all formats, oldest first, and then the two newest formats again."""
        return [*self.older, self.named, self.older[-1], self.named]

    def __str__(self) -> str:
        return f"{self.named} beside {', '.join(self.older)}"


MIXTURES = [
    Mixture(named, older)
    for named, all_older in OLDER.items()
    for count in range(1, len(all_older) + 1)
    for older in combinations(all_older, count)
]


def record(offset: int, format: str) -> Record:
    """Return a record with every property that its format supports."""
    of = format_of(format)
    headers: tuple[tuple[str | int, bytes | None], ...] = ()
    if "headers" in of.has and offset % 3:
        headers = ((offset, b"h"),) if format.startswith("kip82-int") else (("h", b"%d" % offset),)
    has_flag = "is_tombstone" in of.record_bits
    value = None if offset % 5 == 4 else b"value %d" % offset
    return Record(
        offset,
        -1 if format == "v0" else 1_700_000_000_000 + offset,
        b"k%d" % (offset % 7),
        value,
        headers,
        tombstone=(value is None or offset % 4 == 0) if has_flag else None,
    )


def batches_of(formats: list[str], codec: str = "none", size: int = 4) -> list[tuple[str, list[Record], bytes]]:
    batches = []
    for number, format in enumerate(formats):
        records = [record(number * size + index, format) for index in range(size)]
        batches.append((format, records, build(records, format, compression=codec).encode()))
    return batches


def log_of(folder: Path, mixture: Mixture, codec: str = "none") -> list[tuple[str, Record]]:
    """Write two segments, each with batches of all formats in `mixture`. Return all records with their formats."""
    folder.mkdir(parents=True)
    batches = batches_of([*mixture.formats, *mixture.formats], codec)
    middle = len(mixture.formats)
    for part in (batches[:middle], batches[middle:]):
        base = part[0][1][0].offset
        (folder / f"{base:020}.log").write_bytes(b"".join(data for _, _, data in part))
    return flat(batches)


def flat(batches: list[tuple[str, list[Record], bytes]]) -> list[tuple[str, Record]]:
    return [(format, each) for format, records, _ in batches for each in records]
