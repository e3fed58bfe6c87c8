from pathlib import Path
from typing import Any

import pytest

from tagwire.log import Partition
from tagwire_spark import PipelineError
from tagwire_spark.log_read.stream_offsets import Log, offset_ends

EPOCHS = ((2, 0), (4, 20), (5, 30))


@pytest.mark.parametrize(
    ("epochs", "offset", "expected"),
    [
        (EPOCHS, 9, None),  # before the log's first offset
        (EPOCHS, 10, None),
        (EPOCHS, 11, 2),
        (EPOCHS, 20, 2),
        (EPOCHS, 21, 4),
        (EPOCHS, 40, 5),
        ((), 20, None),
        (((4, 20),), 15, None),
    ],
)
def test_the_epoch_of_the_record_before_an_offset(
    tmp_path: Path, epochs: tuple[tuple[int, int], ...], offset: int, expected: int | None
) -> None:
    log = Log(("alpha", 0), Partition(tmp_path), first=10, end=40, name="alpha-0", epochs=epochs)
    assert log.epoch_before(offset) == expected


@pytest.mark.parametrize("offset", [5, None, {"logOffset": 3}, {"t": {"a": 1}}, {"t": {"0": None}}])
def test_a_checkpoint_of_another_source(offset: Any) -> None:
    with pytest.raises(PipelineError, match=r"INVALID_TAGWIRE_OPTION.*choose another checkpointLocation"):
        offset_ends(offset)
