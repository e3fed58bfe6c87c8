"""Write partitions as Kafka's local tiered storage does."""

import shutil
from base64 import urlsafe_b64encode
from itertools import pairwise
from pathlib import Path

from tagwire.log import Partition

TOPIC_ID = "Xb3mTo8fQTWLbVhNcLx3VA"


def tiered(source: Path, root: Path) -> Path:
    """Copy a partition to tiered storage: each segment gets an ID, a producer snapshot, and leader epochs."""
    folder = root / f"{source.name}-{TOPIC_ID}"
    folder.mkdir(parents=True)
    bases = [segment.base_offset or 0 for segment in Partition(source).segments]
    snapshots = {int(path.stem): path for path in source.glob("*.snapshot")}
    for base, next_base in pairwise([*bases, max([*snapshots, *bases])]):
        copy = urlsafe_b64encode(base.to_bytes(16, "big")).decode().rstrip("=")
        for kind in ("log", "index", "timeindex", "txnindex"):
            if (path := source / f"{base:020}.{kind}").exists():
                shutil.copy(path, folder / f"{base}-{copy}.{kind}")
        if next_base in snapshots:
            shutil.copy(snapshots[next_base], folder / f"{base}-{copy}.snapshot")
        if (source / "leader-epoch-checkpoint").exists():
            shutil.copy(source / "leader-epoch-checkpoint", folder / f"{base}-{copy}.leader_epoch_checkpoint")
    return folder
