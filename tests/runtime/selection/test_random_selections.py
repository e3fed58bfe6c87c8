from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pytest
from damage import Sample, damaged, samples
from native_engine import Plan
from random_selections import Rejected, changed, encoded, random_paths, with_rows

from tagwire import DROP, DecodeError, EncodeError, LimitError, Limits, Selection
from tagwire.selection.paths import Step

pytestmark = pytest.mark.slow
ROUNDS = 8_000


class PureSelection(Selection):
    def _plan(self, version: int) -> Any:
        return None


class Counted:
    """A native selection plan that counts how often the layout interpreter is used instead."""

    rejected = 0

    def __init__(self, plan: Any) -> None:
        self.read = plan.read
        self.plan = plan

    def rewrite(self, *args: Any) -> bytes | None:
        done: bytes | None = self.plan.rewrite(*args)
        Counted.rejected += done is None
        return done


class NativeSelection(Selection):
    def _made(self, serializer: Any) -> Any:
        plan = super()._made(serializer)
        return plan if plan is None else Counted(plan)


ENGINES: tuple[type[Selection], ...] = (PureSelection,) if Plan is None else (NativeSelection, PureSelection)


@cache
def with_fields() -> list[Sample]:
    return [sample for sample in samples() if sample.cls.FIELDS]


def selected(random: Random, number: int) -> tuple[Sample, list[Selection], str]:
    sample = with_fields()[number % len(with_fields())]
    paths = random_paths(sample.cls, random)
    where = f"{sample.cls.NAME} v{sample.version} {paths} {sample.data.hex()}"
    return sample, [engine(sample.cls, paths) for engine in ENGINES], where


def as_rows(selection: Selection, rows: list[Any]) -> list[Any]:
    return [(row,) for row in rows] if len(selection.paths) == 1 else rows


def identity(*row: Any) -> Any:
    return row[0] if len(row) == 1 else row


def fresh(*row: Any) -> Any:
    return identity(*map(again, row))


def again(value: Any) -> Any:
    if isinstance(value, list):
        return [again(each) for each in value]
    return value.replace() if hasattr(value, "__slots__") and hasattr(value, "FIELDS") else value


def test_writing_back_rows_and_rewriting_by_identity_change_nothing() -> None:
    random = Random(21)
    for number in range(ROUNDS):
        sample, selections, where = selected(random, number)
        message = sample.cls.decode(sample.data, sample.version)
        is_canonical = encoded(message, sample.version) == sample.data
        for selection in selections:
            rows = selection.read(sample.data, sample.version)
            other = sample.cls.decode(sample.data, sample.version)
            assert with_rows(other, selection.paths, as_rows(selection, rows)) == message, where
            assert selection.rewrite(sample.data, sample.version, identity) == sample.data, where
            assert not is_canonical or selection.rewrite(sample.data, sample.version, fresh) == sample.data, where


class Change:
    """Changes rows at random. With the same seed, it makes the same changes for each engine."""

    def __init__(self, seed: int, selection: Selection) -> None:
        self.random = Random(seed)
        self.may_drop = bool(selection._paths.row_path)
        self.new: list[Any] = []
        self.changes = 0

    def __call__(self, *row: Any) -> Any:
        if self.may_drop and self.random.random() < 0.1:
            self.new.append(DROP)
            return DROP
        values = tuple([changed(value, self.random) if self.random.random() < 0.5 else value for value in row])
        self.changes += sum(one is not other for one, other in zip(row, values, strict=True))
        self.new.append(values)
        return identity(*values)

    def elements(self, selection: Selection) -> tuple[Any, ...]:
        row_path: list[Step] = selection._paths.row_path
        if sum(step.each for step in row_path) != 1 or selection._paths.element is None or self.random.random() < 0.7:
            return ()
        created = [selection._paths.element() for _ in range(self.random.randrange(3))]
        return tuple([changed(one, self.random) or one for one in created])


def test_rewrites_equal_decode_change_encode() -> None:
    random = Random(31)
    done = rejected = compared = 0
    Counted.rejected = 0
    for number in range(3 * ROUNDS):
        sample, selections, where = selected(random, number)
        if encoded(sample.cls.decode(sample.data, sample.version), sample.version) != sample.data:
            continue
        want, changes = expected(sample, selections[0], number)
        for selection in selections:
            got, _, _ = rewritten(sample, selection, number)
            if isinstance(want, bytes):
                assert got == want, f"{where} {changes.new}: {got!r} is not {want!r}"
                done += 1
                continue
            assert isinstance(got, EncodeError), f"{where} {changes.new}: {got!r}, but decode and encode say {want}"
            rejected += 1
            if changes.changes == 1 and isinstance(want, EncodeError):
                assert str(got) == str(want), where
                compared += 1
    assert done > ROUNDS / 4
    assert rejected > ROUNDS / 20
    assert compared > 100
    if Plan is not None:  # the layout interpreter must be used rarely
        # Each case runs twice, so `Counted` counts each rejection twice.
        assert Counted.rejected / 2 - rejected / len(ENGINES) < done / 100


def rewritten(sample: Sample, selection: Selection, seed: int) -> tuple[bytes | EncodeError, Change, tuple[Any, ...]]:
    change = Change(seed, selection)
    appended = change.elements(selection)
    try:
        return selection.rewrite(sample.data, sample.version, change, append=appended), change, appended
    except EncodeError as error:
        return error, change, appended


def expected(sample: Sample, selection: Selection, seed: int) -> tuple[bytes | Exception, Change]:
    _, change, appended = rewritten(sample, selection, seed)
    message = sample.cls.decode(sample.data, sample.version)
    try:
        return encoded(with_rows(message, selection.paths, change.new, appended), sample.version), change
    except Rejected as error:
        return error, change


def test_errors_equal_those_of_decode() -> None:
    random = Random(41)
    accepted = 0
    for number in range(2 * ROUNDS):
        sample, selections, where = selected(random, number)
        data = damaged(sample, random)
        limits = Limits() if number % 3 else Limits(elements=random.randrange(4), depth=random.randrange(4))
        want = outcome(sample.cls.decode, data, sample.version, limits=limits)
        accepted += want is None
        at_3 = outcome(decoded_to_end, sample, bytes(3) + data, limits)
        for selection in selections:
            got = [outcome(selection.read, data, sample.version, limits=limits)]
            got.append(outcome(selection.rewrite, data, sample.version, identity, limits=limits))
            assert got == [want, want], f"{where} {data.hex()} {limits}"
            got = [outcome(selection.read, bytes(3) + data, sample.version, offset=3, limits=limits)]
            assert got == [at_3], f"{where} {data.hex()} {limits}"
    assert ROUNDS / 10 < accepted < 2 * ROUNDS


def decoded_to_end(sample: Sample, data: bytes, limits: Limits) -> None:
    _, end = sample.cls.decode_from(data, sample.version, 3, limits=limits)
    if end != len(data):
        left = f"{len(data) - end} byte{'s' * (len(data) - end != 1)} after the message"
        raise DecodeError(
            message_name=sample.cls.NAME,
            version=sample.version,
            path="",
            offset=end,
            found=left,
            expected="the end of the data",
        )


def outcome(call: Callable[..., Any], *args: Any, **more: Any) -> Any:
    try:
        call(*args, **more)
    except DecodeError as error:
        return type(error) is LimitError, str(error), error.path, error.offset
    return None
