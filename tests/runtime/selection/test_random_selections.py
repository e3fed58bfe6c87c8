"""Selections of random paths against decode, change, encode: on every version of every message, on both engines."""

from functools import cache
from random import Random
from typing import Any

import pytest
from damage import Sample, damaged, samples
from random_selections import Refused, changed, encoded, random_paths, with_rows

from tagwire import DROP, DecodeError, EncodeError, LimitError, Limits, Selection, select

ROUNDS = 12_000


def named(sample: Sample, paths: tuple[str, ...]) -> str:
    return f"{sample.cls.NAME} v{sample.version} {paths} {sample.data.hex()}"


@cache
def with_fields() -> list[Sample]:
    return [sample for sample in samples() if sample.cls.FIELDS]


def selected(random: Random, number: int) -> tuple[Sample, Selection]:
    sample = with_fields()[number % len(with_fields())]
    return sample, select(sample.cls, *random_paths(sample.cls, random))


def as_rows(selection: Selection, rows: list[Any]) -> list[Any]:
    """Rows as tuples, with a single path as well."""
    return [(row,) for row in rows] if len(selection.paths) == 1 else rows


def rewritten(selection: Selection, sample: Sample, function: Any, **more: Any) -> bytes | EncodeError:
    try:
        return selection.rewrite(sample.data, sample.version, function, **more)
    except EncodeError as error:
        return error


def identity(*row: Any) -> Any:
    return row if len(row) > 1 else row[0]


@pytest.mark.slow
def test_reading_and_the_identity() -> None:
    """Rows put back where they were read leave the decoded message as it is; rewriting by the identity leaves the bytes."""
    random = Random(21)
    for number in range(ROUNDS):
        sample, selection = selected(random, number)
        rows = selection.read(sample.data, sample.version)
        message = sample.cls.decode(sample.data, sample.version)
        empty = sample.cls.decode(sample.data, sample.version)
        assert with_rows(empty, selection.paths, as_rows(selection, rows)) == message, named(sample, selection.paths)
        assert selection.rewrite(sample.data, sample.version, identity) == sample.data, named(sample, selection.paths)
        fresh = lambda *row: identity(*map(again, row))  # noqa: E731
        if encoded(message, sample.version) == sample.data:
            assert rewritten(selection, sample, fresh) == sample.data, named(sample, selection.paths)


def again(value: Any) -> Any:
    """The same value as another object, where that may be."""
    if isinstance(value, list):
        return [again(each) for each in value]
    return value.replace() if hasattr(value, "replace") and not isinstance(value, str | bytes) else value


@pytest.mark.slow
def test_changes() -> None:
    """A rewrite gives the bytes that decode, change, encode give, or refuses what they refuse."""
    random = Random(31)
    done = refused = compared = 0
    for number in range(3 * ROUNDS):
        sample, selection = selected(random, number)
        if encoded(sample.cls.decode(sample.data, sample.version), sample.version) != sample.data:
            continue
        new: list[Any] = []
        changes = 0

        def change(*row: Any, new: list[Any] = new, random: Random = random) -> Any:
            nonlocal changes
            if random.random() < 0.1 and DROPS:
                new.append(DROP)
                return DROP
            values = tuple([changed(value, random) if random.random() < 0.5 else value for value in row])
            changes += sum(one is not other for one, other in zip(row, values, strict=True))
            new.append(values)
            return identity(*values)

        has_rows = any("[]" in path for path in selection.paths) and as_rows_share(selection.paths)
        DROPS = has_rows
        got = rewritten(selection, sample, change)
        try:
            message = with_rows(sample.cls.decode(sample.data, sample.version), selection.paths, new)
        except Refused:
            assert isinstance(got, EncodeError), named(sample, selection.paths)
            refused += 1
            continue
        want = encoded(message, sample.version)
        where = f"{named(sample, selection.paths)} {new}"
        if isinstance(want, EncodeError):
            assert isinstance(got, EncodeError), f"{where}: {got!r}, but encode says {want}"
            if changes == 1:
                compared += 1
                assert str(got) == str(want), where
            refused += 1
        else:
            assert got == want, f"{where}: {got!r} is not {want!r}"
            done += 1
    assert done > ROUNDS / 4 and refused > ROUNDS / 20 and compared > 100


def as_rows_share(paths: tuple[str, ...]) -> bool:
    """Whether the paths share an array, so that there are rows to drop."""
    heads = [path.split("[]")[0] for path in paths]
    return all("[]" in path for path in paths) and len(set(heads)) == 1


@pytest.mark.slow
def test_damaged_bytes() -> None:
    """Reading and rewriting refuse exactly what decode refuses, in its words."""
    random = Random(41)
    accepted = 0
    for number in range(2 * ROUNDS):
        sample, selection = selected(random, number)
        data = damaged(sample, random)
        limits = Limits() if number % 3 else Limits(elements=random.randrange(4), depth=random.randrange(4))
        want = outcome(sample.cls.decode, data, sample.version, limits=limits)
        accepted += want is None
        where = f"{named(sample, selection.paths)} {data.hex()} {limits}"
        assert outcome(selection.read, data, sample.version, limits=limits) == want, where
        assert outcome(selection.rewrite, data, sample.version, identity, limits=limits) == want, where
        padded = bytes(3) + data
        want = outcome(sample.cls.decode_from, padded, sample.version, 3, limits=limits)
        if want is not None:
            assert outcome(selection.read, padded, sample.version, offset=3, limits=limits) == want, where
    assert ROUNDS / 10 < accepted < 2 * ROUNDS


def outcome(call: Any, *args: Any, **more: Any) -> Any:
    """The error of a call, with all that it says; None where there is none."""
    try:
        call(*args, **more)
    except DecodeError as error:
        return type(error) is LimitError, str(error), error.path, error.offset
    return None
