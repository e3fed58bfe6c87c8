from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from column_values import in_columns
from damage import Sample, samples
from golden_files import FOLDER, read_file
from kafka_cases import present

import tagwire_messages as messages
from tagwire import arrow
from tagwire.explain.text import parse_annotated
from tagwire_generator.model.spec_names import snake_case

pytestmark = pytest.mark.usefixtures("each_engine")
NAMES = messages.registry.names()
Rows = dict[tuple[Any, int], list[bytes]]


def goldens() -> Rows:
    rows: Rows = {}
    for name in NAMES:
        for golden in read_file(FOLDER / f"{snake_case(name)}.txt"):
            rows[messages.registry[name], golden.version] = [parse_annotated(golden.annotation)]
    return rows


def kafkas() -> Rows:
    rows: Rows = defaultdict(list)
    for name in ("golden_vectors", "rand", "unk"):
        for row in present(name):
            rows[messages.registry[row["message"]], row["version"]].append(bytes.fromhex(row["hex"]))
    for sample in samples():
        if sample.cls.NAME in ("FooRequest", "FooResponse"):
            rows[sample.cls, sample.version].append(sample.data)
    return rows


def check(cls: Any, version: int, rows: list[bytes]) -> None:
    data = [each for row in rows for each in (row, None)]
    array = pa.array([b"before", *data, b"behind"], pa.binary())[1:-1]
    stream = arrow.decode_column(array, cls, version)
    columns = pa.array(stream)
    columns.validate(full=True)
    assert columns.type == pa.struct(pa.schema(arrow.schema(cls, version)))
    decoded = [None if row is None else cls.decode(row, version) for row in data]
    expected = [None if value is None else in_columns(value, version) for value in decoded]
    assert repr(columns.to_pylist()) == repr(expected)  # in `repr`, -0.0 differs from 0.0, and NaN equals NaN
    encoded = pa.array(arrow.encode_column(stream, cls, version))
    encoded.validate(full=True)
    assert encoded.to_pylist() == [None if value is None else value.encode(version) for value in decoded]


@pytest.mark.parametrize("sources", [goldens, pytest.param(kafkas, marks=pytest.mark.thorough)])
def test_columns_of_known_bytes(sources: Any) -> None:
    for (cls, version), rows in sources().items():
        check(cls, version, rows)


def by_message() -> dict[Any, list[Sample]]:
    found: dict[Any, list[Sample]] = defaultdict(list)
    for sample in samples():
        found[sample.cls].append(sample)
    return found


@pytest.mark.thorough
def test_all_versions_in_one_array() -> None:
    """Columns must include every version's fields. If a row's version lacks a field, its value must be the default."""
    for cls, found in by_message().items():
        numbers = pa.array([sample.version for sample in found], pa.int16())
        data = pa.array([sample.data for sample in found], pa.binary())
        decoded = arrow.decode_column(data, cls, numbers)
        columns = pa.array(decoded)
        columns.validate(full=True)
        assert columns.type == pa.struct(pa.schema(arrow.schema(cls, cls.VERSIONS)))
        for sample, row in zip(found, columns.to_pylist(), strict=True):
            alone = in_columns(cls.decode(sample.data, sample.version), sample.version)
            assert_within(alone, row)
        encoded = pa.array(arrow.encode_column(decoded, cls, numbers)).to_pylist()
        again = [cls.decode(sample.data, sample.version).encode(sample.version) for sample in found]
        assert encoded == again


def assert_within(part: Any, whole: Any) -> None:
    if isinstance(part, dict):
        for name, value in part.items():
            assert_within(value, whole[name])
    elif isinstance(part, list) and len(part) == len(whole):
        for one, other in zip(part, whole, strict=True):
            assert_within(one, other)
    else:
        assert repr(part) == repr(whole)
