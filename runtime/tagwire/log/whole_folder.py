"""A folder that is there when all of it is written, and never before: what every command gives that writes partitions.

It is filled under another name beside its place, and renamed. Before that, its
files are put on disk: a rename that outlives a power cut, with files that did
not, would be half a partition that looks like a whole one.
"""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tagwire.log.errors import LogPathError

__all__ = ["whole_folder"]


@contextmanager
def whole_folder(target: Path) -> Generator[Path]:
    """A folder to fill, which becomes `target` when that ends well, and else is gone.

    Raises LogPathError where the folder is there already, or can't be written.
    """
    if target.exists():
        raise LogPathError(f"{target}: it is there already; nothing is written over")
    made = target.with_name(f".{target.name}.partial")
    try:
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        yield made
        for path in made.iterdir():
            _on_disk(path)
        _on_disk(made)
        made.rename(target)
        _on_disk(target.parent)
    except OSError as error:
        raise LogPathError(f"{target}: can't be written: {error.strerror}") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _on_disk(path: Path) -> None:
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
