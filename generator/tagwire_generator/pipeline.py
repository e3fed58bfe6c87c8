"""Generate the files of a package from a folder of specs, in one call.

Each spec is a separate task (read, validate, render). Its result may come from the cache or from another process.
Tasks import readers and renderers only when they run, so that jsonschema, jinja2 and black are not imported if
everything is cached.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import parent_process
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

from tagwire.errors import SpecError
from tagwire_generator.model import MessageSummary
from tagwire_generator.model.spec_set_rules import check_set
from tagwire_generator.problems import Problem, without_repeats
from tagwire_generator.project.cache import Cache, CacheEntry, environment_key, key_of
from tagwire_generator.project.history import HISTORY_FILE, read_history
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.root import is_folder
from tagwire_generator.project.settings import SettingsError, SpecSet
from tagwire_generator.project.spec_files import (
    SpecData,
    headers_among,
    may_be_register,
    may_be_shared,
    needed_by,
    read_specs,
    uses_registers,
)

if TYPE_CHECKING:
    from tagwire_generator.reading.imports import SharedStructs

Progress = Callable[[int, int], None]
"""A function that is called with the number of finished specs and the total number of specs."""

_WORTH_PROCESSES: Final = 4
"""With fewer specs than this, starting several processes takes longer than it saves."""


@dataclass(frozen=True, slots=True)
class GeneratedPackage:
    """A generated package in memory, and the problems that were found in its specs."""

    files: dict[str, str]
    """Maps paths in the package's folder to file contents. If there are errors, it is empty, so nothing is written."""
    problems: tuple[Problem, ...]

    @property
    def has_errors(self) -> bool:
        """Whether any problem is an error, which stops generation."""
        return any(problem.severity == "error" for problem in self.problems)


@dataclass(frozen=True, slots=True)
class _Task:
    """A spec to read, validate and render. Tasks can be sent to other processes."""

    key: str
    spec: SpecData
    spec_set: SpecSet
    registers: tuple[bytes, ...]
    """The files of the set that may be registers (tables of named numbers), or empty if the spec can't use an enum."""
    shared: tuple[SpecData, ...]
    """The specs of the set that may define shared structs."""
    headers: frozenset[str]
    """The names of the set's header specs."""


def generate(
    spec_set: SpecSet,
    *,
    jobs: int | None = None,
    use_cache: bool = True,
    cache_root: Path | None = None,
    progress: Progress | None = None,
) -> GeneratedPackage:
    """Generate the package of a spec set in memory. Only the cache is written to disk.

    `jobs` is the number of processes, by default one per processor. The cache is in the project at `cache_root`, by
    default the set's own project. Problems in specs are returned in the result's `problems`. Raises SettingsError for
    a missing folder of templates, and SpecError for messages that generate the same path.
    """
    if not is_folder(spec_set.templates):
        reason = "the templates folder does not exist; create it, or choose another one"
        raise SettingsError(f"{spec_set.templates}: {reason}", file=str(spec_set.templates))
    environment = environment_key(spec_set)
    tasks = _tasks(spec_set, environment)
    cache = Cache(cache_root or spec_set.root, spec_set.package) if use_cache else None
    entries = _entries(tasks, cache, jobs or _processors(), progress or (lambda done, total: None))

    problems = without_repeats(problem for entry in entries for problem in entry.problems)
    summaries = [entry.summary for entry in entries if entry.summary]
    registers = [each for each in summaries if each["kind"] == "register"]
    messages = [MessageSummary.from_dict(each) for each in summaries if each["kind"] != "register"]
    # If a spec can't be read, skip the rules for the whole folder: they would report the spec's message as missing.
    if len(summaries) == len(tasks):
        problems += check_set(messages, spec_set.options, registers)
    package = GeneratedPackage({}, tuple(problems))
    if not package.has_errors:
        package_entry = _package_entry(spec_set, environment, messages, [each["name"] for each in registers], cache)
        sources = [task.spec.file for task in tasks]
        package = GeneratedPackage(_merge([*zip(sources, entries, strict=True), ("", package_entry)]), tuple(problems))
    if cache:
        cache.prune()
    return package


def _tasks(spec_set: SpecSet, environment: str) -> list[_Task]:
    specs = [each for folder in spec_set.sources for each in read_specs(folder, spec_set.source_name)]
    shared = tuple(each for each in specs if may_be_shared(each.data))
    known = tuple(each.data for each in specs if may_be_register(each.data))
    headers = headers_among(specs)
    tasks: list[_Task] = []
    for spec in specs:
        imported = needed_by(spec.data, shared)
        registers = known if any(uses_registers(each.data) for each in (spec, *imported)) else ()
        needs = [*registers, *(part for each in imported for part in (each.file, each.data))]
        key = key_of(environment, spec.file, spec.component, spec.data, *sorted(headers), *needs)
        tasks.append(_Task(key, spec, spec_set, registers, shared, headers))
    return tasks


def _entries(tasks: Sequence[_Task], cache: Cache | None, jobs: int, progress: Progress) -> list[CacheEntry]:
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
    with ProcessPoolExecutor(min(jobs, len(tasks)), initializer=_end_with_parent) as pool:
        try:
            yield from pool.map(_make, tasks, chunksize=4)
        except BaseException:
            pool.shutdown(cancel_futures=True)  # drop tasks that haven't started, to report the error sooner
            raise


def _end_with_parent() -> None:
    """End this worker process as soon as its parent has ended. A parent that is killed can't end its workers."""
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


def _make(task: _Task) -> CacheEntry:
    """Read, validate and render a spec. For a spec with errors, the result has no files and no summary."""
    from tagwire_generator.views.render import Printer, render_message, render_register

    printer, source = Printer(task.spec_set.templates, task.spec_set.formatter), task.spec.file
    result = _shared_structs(task.shared, task.spec_set.options, task.registers).read_spec(task.spec)
    if result.register is not None:
        files = render_register(result.register, printer, source)
        return CacheEntry(files, result.register.summary(), result.problems)
    if result.message is None:
        return CacheEntry({}, {}, result.problems)
    files = render_message(result.message, task.spec_set.package, printer, source, task.headers)
    return CacheEntry(files, result.message.summary().as_dict(), result.problems)


@lru_cache(maxsize=2)
def _shared_structs(specs: tuple[SpecData, ...], options: SpecOptions, registers: tuple[bytes, ...]) -> "SharedStructs":
    """Return the shared structs of a set. They are cached, because all tasks in this process use them."""
    from tagwire_generator.reading.imports import SharedStructs
    from tagwire_generator.reading.register import registers_among

    return SharedStructs(specs, options, registers_among(registers))


def _package_entry(
    spec_set: SpecSet,
    environment: str,
    messages: Sequence[MessageSummary],
    registers: Sequence[str],
    cache: Cache | None,
) -> CacheEntry:
    history_path = spec_set.specs / HISTORY_FILE
    history = history_path.read_bytes() if history_path.is_file() else b""
    # Leave `numbers` out of the cache key: the package's own modules don't depend on them.
    facts = [replace(each, numbers=()).as_dict() for each in messages]
    key = key_of(environment, "package", json.dumps([facts, registers]), history)
    if cache and (entry := cache.get(key)):
        return entry
    from tagwire_generator.views.render import Printer, render_package

    releases = read_history(history_path) if history else None
    printer = Printer(spec_set.templates, spec_set.formatter)
    files = render_package(messages, registers, spec_set.package, printer, releases)
    entry = CacheEntry(files, {})
    if cache:
        cache.put(key, entry)
    return entry


def _merge(entries: Iterable[tuple[str, CacheEntry]]) -> dict[str, str]:
    files: dict[str, str] = {}
    owners: dict[str, str] = {}
    for source, entry in entries:
        for path, text in entry.files.items():
            # Some file systems ignore case, so paths that differ only in case collide.
            if (owner := owners.setdefault(path.lower(), source)) != source or path in files:
                made_by = f"{owner} and {source or 'the package itself'}"
                raise SpecError(f"{made_by} both generate {path}; rename one of the messages", file=owner)
            files[path] = text
    return files


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
