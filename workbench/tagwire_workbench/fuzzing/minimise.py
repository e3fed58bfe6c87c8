"""Find smaller inputs that keep a property, such as the exception that a fuzzer found.

    minimise(data, keeps, framing)        Minimised: the smallest input found, and the number of tries
    same_failure(target, data)            a `keeps` function that tests for the same exception from the same line

The search first removes array elements, tagged fields, nullable structs, and the content of strings and bytes. It then
sets other fields to their defaults. Enclosing counts and sizes are adjusted, so an invalid input keeps its error.
Finally, the search removes ranges of bytes. This is the only step if the input's message is unknown.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from tagwire.errors import EncodeError, TagwireError
from tagwire.layout import Fixed, Nested, NullableFixed, Sized
from tagwire_workbench.fuzzing.framing import FuzzInput, InputFraming
from tagwire_workbench.fuzzing.input_parts import InputPart, parts_of, splice, value_bytes

Keeps = Callable[[bytes], bool]

NO_ERROR: Final = "the target raises no error for this input, so there is no failure to preserve"


class NothingToKeepError(TagwireError, ValueError):
    """Raised if the original input doesn't have the property that smaller inputs must keep."""


class Minimised(NamedTuple):
    """The result of a minimisation."""

    data: bytes
    tries: int
    is_done: bool
    """Whether all candidates were tested within the limit on tries."""


def minimise(data: bytes, keeps: Keeps, framing: InputFraming | None = None, *, tries: int = 20_000) -> Minimised:
    """Return the smallest input found for which `keeps` is true, after at most `tries` calls of `keeps`.

    Raises NothingToKeepError if `keeps(data)` is false. If `keeps` raises an exception, so does this function.
    """
    if not keeps(data):
        raise NothingToKeepError("`keeps` returns False for this input, so there is nothing to preserve")
    search = _Search(data, keeps, framing, tries)
    while search.is_smaller():
        pass
    return Minimised(search.data, search.tried, search.tried < tries)


def same_failure(target: Callable[[bytes], object], data: bytes) -> Keeps:
    """Return a function that tests whether an input raises the same class of exception from the same line as `data`.

    Raises NothingToKeepError if `target(data)` raises nothing.
    """
    return same_result(partial(raised, target), data, NO_ERROR)


def same_result(result: Callable[[bytes], object], data: bytes, no_failure: str) -> Keeps:
    """Return a function that tests whether `result` returns the same value for an input as for `data`.

    Raises NothingToKeepError with the text `no_failure` if this value is None.
    """
    expected = result(data)
    if expected is None:
        raise NothingToKeepError(no_failure)
    return lambda changed: result(changed) == expected


def raised(target: Callable[[bytes], object], data: bytes) -> tuple[str, str, int | None] | None:
    """Call the target. Return the class, file and line of its exception, or None if it raises nothing."""
    try:
        target(data)
    except (Exception, SystemExit) as error:
        cls, last = type(error), traceback.extract_tb(error.__traceback__)[-1]
        return f"{cls.__module__}.{cls.__qualname__}", last.filename, last.lineno
    return None


class _Search:
    """The state of a search: the smallest input found so far, and the inputs already tested."""

    def __init__(self, data: bytes, keeps: Keeps, framing: InputFraming | None, tries: int) -> None:
        self.data = data
        self.keeps = keeps
        self.framing = framing
        self.tries = tries
        self.tried = 1
        self.seen = {_digest(data)}

    def is_smaller(self) -> bool:
        """Try one kind of simplification after another until one changes the input. Return False if none does."""
        for candidates in (self.without_parts, self.with_less, self.with_defaults, self.without_bytes):
            if self.take(candidates):
                return True
        return False

    def take(self, candidates: Callable[[], Iterator[bytes]]) -> bool:
        """Replace the input with simpler ones until no candidate is accepted. Return whether the input has changed."""
        before = self.data
        while any(self.has(candidate) for candidate in candidates()):
            pass
        return self.data != before

    def has(self, candidate: bytes) -> bool:
        """Test a candidate. If `keeps` accepts it, make it the current input and return True."""
        digest = _digest(candidate)
        if digest in self.seen or self.tried >= self.tries:
            return False
        self.seen.add(digest)
        self.tried += 1
        if not self.keeps(candidate):
            return False
        self.data = candidate
        return True

    def parts(self) -> Iterator[tuple[FuzzInput, InputPart]]:
        read = self.framing.read(self.data) if self.framing is not None else None
        if read is not None:
            for message in parts_of(read):
                for part in message.walk():
                    yield read, part

    def without_parts(self) -> Iterator[bytes]:
        """Yield inputs in which some array elements or tagged fields are removed, or a nullable struct is null."""
        for read, part in self.parts():
            has_value = part.node.complete and not part.is_null
            if part.kind in ("array", "section", "buffer"):
                complete = [each for each in part.inner if each.node.complete]
                for start, end in _ranges(len(complete)):
                    run = complete[start:end]
                    yield splice(read, part, run[0].start, run[-1].end, b"", elements=-len(run)).data
            elif isinstance(part.type, Nested | NullableFixed) and part.type.nullable and has_value:
                yield splice(read, part.holder, part.start, part.end, value_bytes(part.type, None)).data

    def with_less(self) -> Iterator[bytes]:
        """Yield inputs in which one string or byte string is shorter or simpler."""
        for read, part in self.parts():
            if isinstance(part.type, Sized) and part.node.complete and isinstance(part.node.value, str | bytes):
                for content in _shorter(part.node.value):
                    yield splice(read, part.holder, part.start, part.end, value_bytes(part.type, content)).data
            elif part.kind == "raw" and part.node.complete:
                for data in _shorter(read.data[part.start : part.end]):
                    yield splice(read, part.holder, part.start, part.end, data).data

    def with_defaults(self) -> Iterator[bytes]:
        """Yield inputs in which one fixed-width field or array element is replaced by its default."""
        for read, part in self.parts():
            if isinstance(part.type, Fixed | NullableFixed) and not part.is_null and part.node.complete:
                is_element = part.holder.kind == "array"
                default = None if is_element or part.item is None else part.item.default_value()
                value = part.type.wire.default if default is None else default
                with suppress(EncodeError):  # raised if a closed enum doesn't have the default
                    yield splice(read, part.holder, part.start, part.end, value_bytes(part.type, value)).data

    def without_bytes(self) -> Iterator[bytes]:
        """Yield inputs in which a range of bytes is removed: first long ranges, then shorter ones."""
        for start, end in _ranges(len(self.data)):
            yield self.data[:start] + self.data[end:]


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _ranges(size: int) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of all of `size` items, then of each half, each quarter ... and each single item."""
    step = size
    while step:
        for start in range(0, size, step):
            yield start, min(start + step, size)
        step //= 2


def _shorter(value: Any) -> Iterator[Any]:
    """Yield simpler values: empty, each half, without the last or first character, and a plain character repeated."""
    if not value:
        return
    yield value[:0]
    yield value[: len(value) // 2]
    yield value[len(value) // 2 :]
    yield value[:-1]
    yield value[1:]
    yield "a" * len(value) if isinstance(value, str) else bytes(len(value))
