"""The shared structs of a spec set, by name: what the imports of a spec can find.

Specs are given as texts, wherever they come from: a folder, a revision, an
editor. Only those that may be shared structs are parsed, once; each is read
when the first import asks for it.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tagwire.errors import SpecError
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.settings import SpecSet
from tagwire_generator.project.spec_files import SpecData, find_specs, may_be_shared, spec_data
from tagwire_generator.reading.registers import Registers
from tagwire_generator.reading.values import items
from tagwire_generator.syntax.parse import Object, Scalar, parse
from tagwire_generator.syntax.spec_schema import is_shared_struct

if TYPE_CHECKING:
    from tagwire_generator.reading.spec import ReadResult


@dataclass(frozen=True, slots=True)
class SharedStruct:
    """A spec of type struct: where it is, and the names of what it imports."""

    name: str
    spec: SpecData
    imports: tuple[str, ...]


class SharedStructs:
    """The shared structs among some specs, which are asked for when the first import is read."""

    def __init__(
        self, specs: Iterable[SpecData] = (), options: SpecOptions | None = None, registers: Registers | None = None
    ) -> None:
        self._specs = specs
        self._registers = registers
        self._options = options or SpecOptions()
        self._read: dict[str, ReadResult] = {}

    @cached_property
    def _by_name(self) -> dict[str, SharedStruct]:
        found: dict[str, SharedStruct] = {}
        for each in self._specs:
            if not may_be_shared(each.data):
                continue
            root = parse(each.data.decode("utf-8", "replace"), file=each.file).root
            name = root.get("name") if root is not None and is_shared_struct(root) else None
            if isinstance(name, Scalar):
                found.setdefault(name.raw, SharedStruct(name.raw, each, tuple(_imports(root))))
        return found

    def names(self) -> list[str]:
        """The names of all, sorted."""
        return sorted(self._by_name)

    def get(self, name: str) -> SharedStruct | None:
        """The shared struct of that name."""
        return self._by_name.get(name)

    def read(self, name: str) -> "ReadResult":
        """The spec of a shared struct of which is known that it does not import itself. Raises KeyError."""
        from tagwire_generator.reading.spec import read_data

        result = self._read.get(name)
        if result is None:
            spec = self._by_name[name].spec
            result = read_data(
                spec.data,
                file=spec.file,
                component=spec.component,
                options=self._options,
                registers=self._registers,
                shared=self,
            )
            self._read[name] = result
        return result

    def is_circular(self, name: str) -> bool:
        """Whether a shared struct imports itself, or one that does."""
        waiting, seen = [name], {name}
        while waiting:
            known = self.get(waiting.pop())
            for each in known.imports if known else ():
                if known is not None and self.way(each, known.name):
                    return True
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
        return False

    def way(self, start: str, goal: str) -> tuple[str, ...]:
        """The imports that lead from one shared struct to another, both at the ends; empty if none do."""
        ways: list[tuple[str, ...]] = [(start,)]
        seen = {start}
        while ways:
            way = ways.pop(0)
            if way[-1] == goal:
                return way
            known = self.get(way[-1])
            for name in known.imports if known else ():
                if name not in seen:
                    seen.add(name)
                    ways.append((*way, name))
        return ()


def _imports(root: Object | None) -> Iterator[str]:
    for each in items(root.get("imports")) if root is not None else ():
        name = each.get("name") if isinstance(each, Object) else None
        if isinstance(name, Scalar):
            yield name.raw


def structs_beside(
    path: Path, spec_set: SpecSet | None, options: SpecOptions, registers: Registers | None = None
) -> SharedStructs:
    """What a spec at `path` can import, or the specs of a folder there."""
    return SharedStructs(specs_beside(path, spec_set), options, registers)


def specs_beside(path: Path, spec_set: SpecSet | None) -> Iterator[SpecData]:
    """The specs that belong together with a spec, or with those of a folder: those of its set, or of its folder."""
    own = path if path.is_dir() else path.parent
    for folder in spec_set.sources if spec_set else (own,):
        with suppress(SpecError):  # what is wrong with a folder is told where it is asked for
            for each in find_specs(folder):
                yield spec_data(each, file=os.path.relpath(each.path))


NO_SHARED_STRUCTS: Final = SharedStructs()
"""What a spec finds that is read alone."""
