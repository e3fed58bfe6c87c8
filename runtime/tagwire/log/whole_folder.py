"""A folder that is there when all of it is written, and never before: what every command gives that writes partitions.

It is filled under another name beside its place, and renamed. Before that, its
files are put on disk: a rename that outlives a power cut, with files that did
not, would be half a partition that looks like a whole one.

Each run fills a folder of its own name, and renaming does not replace a folder
that has files: of two runs that write the same output, one is refused and
nothing is lost. A lock (`tagwire.log.claim`) refuses it at the start, before its
work is done for nothing. What a killed run has left is removed by the next one
that holds the lock on the same machine.
"""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from errno import EEXIST, ENOTEMPTY
from pathlib import Path
from typing import Final
from uuid import uuid4

from tagwire.log.claim import claimed, host
from tagwire.log.errors import LogPathError

__all__ = ["on_disk", "publish", "refuse_existing", "whole_folder"]

_PARTIAL: Final = ".partial"


@contextmanager
def whole_folder(target: Path) -> Generator[Path]:
    """A folder to fill, which becomes `target` when that ends well, and else is gone.

    Raises LogPathError where the folder is there already, another process is writing it, or it can't be written.
    """
    refuse_existing(target)
    with claimed(target) as is_alone:
        refuse_existing(target)  # whoever wrote it may have ended just now
        prefix = f".{target.name}.{host()}-"
        made = target.with_name(f"{prefix}{uuid4().hex}{_PARTIAL}")
        try:
            if is_alone:
                _remove_leftovers(target.parent, prefix)
            made.mkdir()
            yield made
            for path in made.iterdir():
                on_disk(path)
            on_disk(made)
            publish(made, target)
        except OSError as error:
            raise LogPathError(f"{target}: can't be written: {error.strerror}") from None
        finally:
            shutil.rmtree(made, ignore_errors=True)


def refuse_existing(target: Path) -> None:
    """Raises LogPathError where something is there."""
    if target.exists():
        raise LogPathError(f"{target}: it is there already; nothing is written over")


def publish(made: Path, target: Path) -> None:
    """Give a folder its final name. Raises LogPathError where there is a folder with files by then, OSError."""
    try:
        made.rename(target)
    except OSError as error:
        if error.errno not in (EEXIST, ENOTEMPTY):
            raise
        raise LogPathError(
            f"{target}: another run has written it in the meantime; nothing is written over, and what this run wrote is"
            " removed"
        ) from None
    on_disk(target.parent)


def _remove_leftovers(folder: Path, prefix: str) -> None:
    for path in folder.iterdir():
        if path.name.startswith(prefix) and path.name.endswith(_PARTIAL):
            shutil.rmtree(path, ignore_errors=True)


def on_disk(path: Path) -> None:
    """Wait until a file or folder is on disk, where the system can do that: not all can for folders."""
    if os.name == "nt":
        return
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError:
        if not path.is_dir():
            raise
    finally:
        os.close(number)
