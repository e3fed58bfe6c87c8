"""Open a path as a capture or a log, depending on its first bytes."""

from codecs import BOM_UTF8
from contextlib import closing
from pathlib import Path
from typing import Final

from tagwire.frames.pcap import MAGIC
from tagwire.log import Segment
from tagwire_cli.arguments.logs import partitions_of, segments_of
from tagwire_cli.explaining.units import ExplainSettings
from tagwire_cli.input.files import InputError
from tagwire_workbench.browsing.batch_listing import BatchListing
from tagwire_workbench.browsing.frame_files import FrameFile, LineFile, NetworkFile, StreamFile
from tagwire_workbench.browsing.frame_listing import FrameListing
from tagwire_workbench.browsing.frame_table import REQUEST, RESPONSE, FrameTable
from tagwire_workbench.browsing.growing_file import PlainFile, open_growing
from tagwire_workbench.browsing.listing import Listing

_START_SIZE: Final = 1 << 10
_MAGIC_AT: Final = 16
_MAGICS: Final = 10
"""Highest magic byte that a batch may have. Kafka's highest is 2, but forks may have added formats."""


def open_listing(
    path: Path, settings: ExplainSettings, *, port: int, stream: str | None, is_log: bool, follows: bool
) -> Listing:
    """Return the listing of a path. Its entries are read later. Raises InputError for an unknown type of file.

    `stream` is the kind of frames in a length-prefixed stream ("request" or "response"), or None for other inputs.
    """
    if path.is_dir() or is_log:
        return _log(path, settings, follows=follows)
    with closing(open_growing(path)) as opened:
        start = opened.more()[:_START_SIZE]
    table = FrameTable(settings.registry)
    file: FrameFile
    if stream is not None:
        kind = REQUEST if stream == "request" else RESPONSE
        file = StreamFile(PlainFile(path), kind, follows=follows)
    elif start[:4] in MAGIC:
        if follows:
            raise InputError(f"{path}: --follow can't read network captures; open the file again when it has grown")
        file = NetworkFile(path, port, settings.registry)
    elif _is_batch(start):
        return _log(path, settings, follows=follows)
    elif start.removeprefix(BOM_UTF8).lstrip()[:1] in (b"", b"{"):
        file = LineFile(open_growing(path), follows=follows)
    else:
        raise InputError(
            f"{path}: expected a capture (JSON lines, pcap) or a log segment, but the file begins with "
            f"{start[:8].hex(' ')}; for a stream of length-prefixed frames, give --frames request or response"
        )
    return FrameListing(file, table, settings)


def _is_batch(start: bytes) -> bool:
    """Return whether a file that starts with these bytes may contain batches.

    A batch starts with its offset. The first bytes of a text file would be far too large an offset.
    """
    if len(start) <= _MAGIC_AT:
        return False
    offset, length = int.from_bytes(start[:8], "big", signed=True), int.from_bytes(start[8:12], "big", signed=True)
    return 0 <= offset < 1 << 56 and length > 0 and start[_MAGIC_AT] <= _MAGICS


def _log(path: Path, settings: ExplainSettings, *, follows: bool) -> Listing:
    def find() -> list[Segment]:
        return [segment for found in partitions_of([path]) for segment in segments_of(found)]

    find()  # raises an error if the folder has no partitions
    return BatchListing(find, settings.formats, settings.limits, follows=follows)
