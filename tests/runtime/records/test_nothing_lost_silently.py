import struct
from random import Random
from typing import Any

import pytest
from record_damage import records_for

from tagwire.errors import EncodeError
from tagwire.records import RecordBatch, build, convert, format_names, format_of, read_batches

NAMES = format_names()


def odd_header(batch: RecordBatch, random: Random) -> RecordBatch:
    """Give a batch unusual header fields: attribute bits that have no name, random timestamps, or a wrapper key."""
    format = format_of(batch.format)
    named = 0
    for group in format.bits.values():
        named |= group.mask
    width = 16 if format.records is not None else 8
    changes: dict[str, Any] = {}
    if random.random() < 0.6:
        bits = random.getrandbits(width) & ~named | batch.attributes
        changes["attributes"] = bits - (1 << width) if bits >> width - 1 else bits
    for role in ("max_timestamp", "base_timestamp"):
        if role in format.fields and random.random() < 0.4 and not format.fields[role].relative_to:
            changes[role] = 1_600_000_000_000 + random.randrange(10**9)
    if format.records is None and batch.compression != "none" and random.random() < 0.5:
        header = batch._header | {"key": b"wrapped"}  # pyright: ignore[reportPrivateUsage]
        (batch,) = read_batches(format.encode_header(header), format, only=True)
    try:
        return batch.replace(**changes)
    except (EncodeError, struct.error):
        return batch


@pytest.mark.thorough
@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_a_conversion_without_losses_can_be_undone(source: str, target: str) -> None:
    random = Random(f"{source} {target}")
    silent = 0
    for _ in range(40):
        codec = random.choice(("none", "gzip"))
        count = 1 if format_of(source).records is None and codec == "none" else random.randrange(1, 4)
        append: dict[str, Any] = {"timestamp_type": "append", "append_time": 1_700_000_000_000}
        more = append if "timestamp_type" in format_of(source).bits and random.random() < 0.3 else {}
        batch = odd_header(build(records_for(source, random, count), source, compression=codec, **more), random)
        there, lost = convert(batch, target)
        if lost:
            continue
        again, *others = read_batches(there.encode(), target, only=True)
        if others:
            continue
        back, lost = convert(again, source)
        assert lost or back.encode() == batch.encode(), (batch.encode().hex(), there.encode().hex())
        silent += not lost
    assert silent or source != target
