"""From a folder of specs to the texts of a package: the whole way, in one call.

Each spec is a task of its own (read, validate, render), so that it can come
from the cache or go to another process; then come the rules about the folder
and the modules of the package as a whole, which need only the summaries. What
reads and renders is imported by a task, not here: a run that finds everything
in the cache never pays for lark, jsonschema, jinja2 and black.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tagwire.errors import SpecError
from tagwire_generator.diagnostics.problems import Problem, without_repeats
from tagwire_generator.project.cache import Cache, CacheEntry, environment_key, key_of
from tagwire_generator.project.history import HISTORY_FILE, read_history
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.settings import SpecSet
from tagwire_generator.project.spec_files import (
    SpecData,
    headers_among,
    may_be_register,
    may_be_shared,
    needed_by,
    uses_registers,
)

if TYPE_CHECKING:
    from tagwire_generator.reading.imports import SharedStructs

Progress = Callable[[int, int], None]
"""Called with the number of specs done and the number of all."""

_WORTH_PROCESSES: Final = 4
"""With fewer specs than this, starting processes costs more than it saves."""


@dataclass(frozen=True, slots=True)
class GeneratedPackage:
    """A package in memory: texts by path within its folder, and what was found on the way."""

    files: dict[str, str]
    """Empty if there are errors among the problems: half a package is never written."""
    problems: tuple[Problem, ...]

    @property
    def has_errors(self) -> bool:
        """Whether a problem stops generation."""
        return any(problem.severity == "error" for problem in self.problems)


@dataclass(frozen=True, slots=True)
class _Task:
    """One spec to be made into modules; crosses to other processes."""

    key: str
    data: bytes
    source: str
    component: str
    package: str
    options: SpecOptions
    templates: Path
    formatter: str
    registers: tuple[bytes, ...]
    """The files of the set that may be registers, where the spec may use one as an enum."""
    shared: tuple[SpecData, ...]
    """The specs of the set that may be shared structs; the key has those of them that the spec may import."""
    headers: frozenset[str]
    """The headers that the set has, which its requests and responses name to type checkers."""


def generate(
    spec_set: SpecSet,
    *,
    jobs: int | None = None,
    use_cache: bool = True,
    cache_root: Path | None = None,
    progress: Progress | None = None,
) -> GeneratedPackage:
    """The package of a spec set; nothing is written but the cache.

    `jobs` is the number of processes, by default one a processor. The cache is
    that of the project at `cache_root`, by default the set's own. Raises
    SpecError where the folder of specs, the templates, or the modules of two
    messages contradict each other; what is wrong with a spec is in `problems`.
    """
    if not spec_set.templates.is_dir():
        raise SpecError(f"{spec_set.templates}: no such folder of templates", file=str(spec_set.templates))
    environment = environment_key(spec_set)
    tasks = _tasks(spec_set, environment)
    cache = Cache(cache_root or spec_set.root, spec_set.package) if use_cache else None
    entries = _entries(tasks, cache, jobs or _processors(), progress or _silent)

    problems = without_repeats(problem for entry in entries for problem in entry.problems)
    summaries = [entry.summary for entry in entries if entry.summary]
    if len(summaries) == len(tasks):  # else a request would seem to lack the response that can't be read
        problems += _directory_problems(summaries, spec_set.options)
    package = GeneratedPackage({}, tuple(problems))
    if not package.has_errors:
        whole = _package_entry(spec_set, environment, summaries, cache)
        sources = [task.source for task in tasks]
        package = GeneratedPackage(_merge([*zip(sources, entries, strict=True), ("", whole)]), tuple(problems))
    if cache:
        cache.prune()
    return package


def _tasks(spec_set: SpecSet, environment: str) -> list[_Task]:
    specs = spec_set.read_specs()
    shared = tuple(each for each in specs if may_be_shared(each.data))
    known = tuple(each.data for each in specs if may_be_register(each.data))
    headers = headers_among(specs)
    tasks: list[_Task] = []
    for spec in specs:
        imported = needed_by(spec.data, shared)
        registers = known if any(uses_registers(each.data) for each in (spec, *imported)) else ()
        needs = [*registers, *(part for each in imported for part in (each.file, each.data))]
        key = key_of(environment, spec.file, spec.component, spec.data, *sorted(headers), *needs)
        set_words = spec_set.package, spec_set.options, spec_set.templates, spec_set.formatter
        tasks.append(_Task(key, spec.data, spec.file, spec.component, *set_words, registers, shared, headers))
    return tasks


def _entries(tasks: Sequence[_Task], cache: Cache | None, jobs: int, progress: Progress) -> list[CacheEntry]:
    """The entry of each task, in the order of the tasks."""
    found = {task.key: entry for task in tasks if cache and (entry := cache.get(task.key))}
    misses = [task for task in tasks if task.key not in found]
    progress(len(found), len(tasks))
    for task, entry in zip(misses, _make_all(misses, jobs), strict=True):
        found[task.key] = entry
        progress(len(found), len(tasks))
        if cache and entry.summary:
            cache.put(task.key, entry)
    return [found[task.key] for task in tasks]


def _make_all(tasks: Sequence[_Task], jobs: int) -> Iterator[CacheEntry]:
    if jobs == 1 or len(tasks) < _WORTH_PROCESSES:
        yield from map(_make, tasks)
        return
    with ProcessPoolExecutor(min(jobs, len(tasks))) as pool:
        try:
            yield from pool.map(_make, tasks, chunksize=4)
        except BaseException:
            pool.shutdown(cancel_futures=True)  # the first failure is told at once, not after all the others
            raise


def _make(task: _Task) -> CacheEntry:
    """Read, validate and render one spec; without files and summary if it has errors."""
    from tagwire_generator.reading.register import registers_among
    from tagwire_generator.reading.spec import read_data
    from tagwire_generator.views.render import Printer, render_message, render_register

    registers = registers_among(task.registers)
    shared = _shared_structs(task.shared, task.options, task.registers)
    printer = Printer(task.templates, task.formatter)
    place: dict[str, Any] = {"file": task.source, "component": task.component, "options": task.options}
    result = read_data(task.data, **place, registers=registers, shared=shared)
    if result.register is not None:
        files = render_register(result.register, printer, task.source)
        return CacheEntry(files, result.register.summary(), result.problems)
    if result.message is None:
        return CacheEntry({}, {}, result.problems)
    files = render_message(result.message, task.package, task.options, printer, task.source, task.headers)
    return CacheEntry(files, result.message.summary().as_dict(), result.problems)


@lru_cache(maxsize=2)
def _shared_structs(specs: tuple[SpecData, ...], options: SpecOptions, registers: tuple[bytes, ...]) -> "SharedStructs":
    """Those of a set, for all its specs that this process reads."""
    from tagwire_generator.reading.imports import SharedStructs
    from tagwire_generator.reading.register import registers_among

    return SharedStructs(specs, options, registers_among(registers))


def _is_register(summary: dict[str, Any]) -> bool:
    """Whether a summary is that of a register, and not of a message."""
    return bool(summary["kind"] == "register")


def _directory_problems(summaries: Sequence[dict[str, Any]], options: SpecOptions) -> tuple[Problem, ...]:
    from tagwire_generator.model import MessageSummary
    from tagwire_generator.model.spec_set_rules import check_set

    messages = [MessageSummary.from_dict(summary) for summary in summaries if not _is_register(summary)]
    return check_set(messages, options, [summary for summary in summaries if _is_register(summary)])


def _package_entry(
    spec_set: SpecSet, environment: str, summaries: Sequence[dict[str, Any]], cache: Cache | None
) -> CacheEntry:
    place = spec_set.specs / HISTORY_FILE
    history = place.read_bytes() if place.is_file() else b""
    facts = [{**each, "numbers": (), "named": ()} for each in summaries]  # the rest is for rules
    key = key_of(environment, "package", json.dumps(facts, sort_keys=True), history)
    if cache and (entry := cache.get(key)):
        return entry
    from tagwire_generator.model import MessageSummary
    from tagwire_generator.views.render import Printer, render_package

    messages = [MessageSummary.from_dict(summary) for summary in summaries if not _is_register(summary)]
    registers = [summary["name"] for summary in summaries if _is_register(summary)]
    releases = read_history(place) if history else None
    printer = Printer(spec_set.templates, spec_set.formatter)
    files = render_package(messages, registers, spec_set.package, printer, releases)
    entry = CacheEntry(files, {})
    if cache:
        cache.put(key, entry)
    return entry


def _merge(made: Iterable[tuple[str, CacheEntry]]) -> dict[str, str]:
    files: dict[str, str] = {}
    owners: dict[str, str] = {}
    for source, entry in made:
        for path, text in entry.files.items():
            # Not only the same path: some file systems see no difference between upper and lower case.
            if (owner := owners.setdefault(path.lower(), source)) != source or path in files:
                made_by = f"{owner} and {source or 'the package itself'}"
                raise SpecError(f"{made_by} both make {path}; rename the message of one", file=owner)
            files[path] = text
    return files


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _silent(done: int, total: int) -> None:
    """Nobody watches."""
