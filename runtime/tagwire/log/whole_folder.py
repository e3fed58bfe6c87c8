"""A folder that appears only when it is complete, for every command that writes partitions.

The folder is filled under another name next to its target and then renamed. Its files are flushed to disk first: if a
rename survived a power failure and the files did not, half a partition would look like a whole one.

Each run fills its own folder, and renaming does not replace a folder that has files, so of two runs with the same
output one fails and nothing is lost. A lock (`tagwire.log.claim`) stops the second run at its start, before it does
useless work. The next run that holds the lock on the same machine removes the leftovers of a killed run.
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

_PARTIAL: Final = ".partial"


@contextmanager
def whole_folder(target: Path) -> Generator[Path]:
    """Yield a folder to fill, which becomes `target` if the block succeeds and is removed otherwise.

    Raises LogPathError if the target exists, another process is writing it, or it can't be written.
    """
    refuse_existing(target)
    with claimed(target) as is_alone:
        refuse_existing(target)  # another run may just have finished it
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
    """Raise LogPathError if the target exists."""
    if target.exists():
        raise LogPathError(f"{target}: already exists; nothing is overwritten")


def publish(made: Path, target: Path) -> None:
    """Give a folder its final name. Raises OSError, and LogPathError if a folder with files has that name by then."""
    try:
        made.rename(target)
    except OSError as error:
        if error.errno not in (EEXIST, ENOTEMPTY):
            raise
        raise LogPathError(
            f"{target}: another run has written it in the meantime; nothing is overwritten, and this run's output"
            " is removed"
        ) from None
    on_disk(target.parent)


def _remove_leftovers(folder: Path, prefix: str) -> None:
    for path in folder.iterdir():
        if path.name.startswith(prefix) and path.name.endswith(_PARTIAL):
            shutil.rmtree(path, ignore_errors=True)


def on_disk(path: Path) -> None:
    """Flush a file or folder to disk. Systems that can't flush folders skip them."""
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
