"""Results as text for a terminal, and as docs/benchmarks.md."""

from collections.abc import Iterable, Sequence
from typing import Any

from timing import Ratio

__all__ = ["Table", "aligned", "markdown", "records_table", "text", "time_text"]

Table = list[tuple[str, ...]]
"""The first row is the head."""


def text(results: dict[str, Any]) -> str:
    """The tables of one run for a terminal."""
    parts = [_heading(results), *_not_measured(results)]
    for title, table in _tables(results):
        parts.append(f"{title}\n\n{aligned(table)}")
    return "\n\n".join(parts) + "\n"


def markdown(runs: Sequence[dict[str, Any]]) -> str:
    """docs/benchmarks.md: what is measured, how, and the tables of each run."""
    parts = [_INTRODUCTION]
    for results in runs:
        parts += [f"## {_heading(results)}", *_measured(results), *_not_measured(results)]
        for title, table in _tables(results):
            parts.append(f"**{title}**\n\n{_piped(table)}")
    return "\n\n".join(parts) + "\n"


def _heading(results: dict[str, Any]) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in results["libraries"].items())
    build = "" if results["optimised_build"] else ", a build without profile-guided optimisation"
    return f"CPython {results['python']}{build}, {results['engine']} engine: {libraries}"


def _measured(results: dict[str, Any]) -> list[str]:
    """When the tables were measured, by their names in `bench/run.py --only`."""
    times: dict[str, list[str]] = {}
    for part, time in results.get("measured", {}).items():
        times.setdefault(time, []).append(part)
    told = "; ".join(f"{', '.join(parts)} on {time}" for time, parts in times.items())
    return [f"Measured: {told}."] if told else []


def _not_measured(results: dict[str, Any]) -> list[str]:
    """Why there are no rows of Java."""
    reason = results.get("java")
    return [f"Java's own classes were not measured: {reason}."] if isinstance(reason, str) else []


def _tables(results: dict[str, Any]) -> Iterable[tuple[str, Table]]:
    speed = "Speed: CPU time of one call; in brackets how many times tagwire's, and the middle half of the rounds"
    if "speed" in results:
        yield speed, _speed(results["speed"])
    if not isinstance(results.get("java", ""), str):
        title = (
            "Java's own classes (kafka-clients, JSON with Jackson): CPU time of one call, and how many times tagwire's"
        )
        yield title, _java(results["java"])
    if "columns" in results:
        title = "Arrow columns: CPU time for each message; in brackets how many times as fast as the first way"
        yield title, _columns(results["columns"])
    if "records" in results:
        title = "Record batches (v2) of 1000 records of 100 bytes: CPU time; in brackets how many times tagwire's"
        yield title, records_table(results["records"])
    if "objects" in results:
        title = "Around the codec, on the MetadataResponse: CPU time, and how many times that of the call beside it"
        yield title, _objects(results["objects"])
    if "imports" in results:
        yield "Import: CPU time, beyond a bare interpreter; modules loaded", _imports(results["imports"])
    if "held" in results:
        yield "Memory of a decoded MetadataResponse v12, in MB", _held(results["held"])
    if "worst" in results:
        title = "Memory that hostile inputs cost tagwire: bytes at the peak for each byte of input"
        yield title, _worst(results["worst"])


def _speed(rows: Sequence[dict[str, Any]]) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row["microseconds"]))
    table: Table = [("message", "bytes", "call", *names)]
    for row in rows:
        cells = [time_text(row["microseconds"].get(name)) + _against(row, name) for name in names]
        table.append((f"{row['message']} v{row['version']}", f"{row['size']:,}", row["operation"], *cells))
    return table


def _against(row: dict[str, Any], name: str) -> str:
    if name not in row["ratios"]:
        return ""
    version = row["versions"][name]
    other = "" if version in (None, row["version"]) else f", v{version}"
    return f" ({Ratio(*row['ratios'][name])}{other})"


def _java(rows: Sequence[dict[str, Any]]) -> Table:
    table: Table = [("message", "call", "tagwire", "Java")]
    for row in rows:
        ours, theirs = (time_text(row["microseconds"][name]) for name in ("tagwire", "java"))
        table.append(
            (f"{row['message']} v{row['version']}", row["operation"], ours, f"{theirs} ({Ratio(*row['ratio'])})")
        )
    return table


def _columns(rows: Sequence[dict[str, Any]]) -> Table:
    messages = list(dict.fromkeys(row["messages"] for row in rows))
    table: Table = [("way", *messages)]
    for way in dict.fromkeys(row["way"] for row in rows):
        found = {row["messages"]: row for row in rows if row["way"] == way}
        table.append((way, *(_column_cell(found[name]) for name in messages)))
    return table


def _column_cell(row: dict[str, Any]) -> str:
    if "times_one_thread" in row:
        return f"{row['times_one_thread']:.2f}x as fast as one, by wall time"
    against = f" ({Ratio(*row['ratio'])})" if row["ratio"] else ""
    return f"{row['nanoseconds']:.0f} ns{against}"


def records_table(rows: Sequence[dict[str, Any]]) -> Table:
    """What building and parsing a batch takes, by codec."""
    names = list(dict.fromkeys(name for row in rows for name in row["microseconds"]))
    table: Table = [("call", *names)]
    for row in rows:
        cells = (
            time_text(row["microseconds"].get(name))
            + (f" ({Ratio(*row['ratio'][name])})" if name in row["ratio"] else "")
            for name in names
        )
        table.append((f"{row['operation']}, {row['codec']}", *cells))
    return table


def time_text(microseconds: float | None) -> str:
    """A time in three digits; "" where it was not measured."""
    if microseconds is None:
        return ""
    return f"{microseconds / 1000:.2f} ms" if microseconds >= 1000 else f"{microseconds:.3g} us"


def _objects(rows: Sequence[dict[str, Any]]) -> Table:
    table: Table = [("call", "time", "beside", "ratio")]
    table += [(row["call"], time_text(row["microseconds"]), row["beside"], str(Ratio(*row["ratio"]))) for row in rows]
    return table


def _imports(rows: Sequence[dict[str, Any]]) -> Table:
    table: Table = [("library", "step", "ms", "modules")]
    table += [(row["library"], row["step"], f"{row['milliseconds']:.1f}", str(row["modules"])) for row in rows]
    return table


def _held(found: dict[str, dict[str, float]]) -> Table:
    rows = [(name, f"{figures['held']:.2f}", f"{figures['peak']:.2f}") for name, figures in found.items()]
    return [("library", "held", "peak"), *rows]


def _worst(rows: Sequence[dict[str, Any]]) -> Table:
    ways = list(rows[0]["factors"])
    table: Table = [("array that is filled", "input", *ways)]
    for row in rows:
        factors = (f"{row['factors'][way]:.0f}" for way in ways)
        table.append((f"{row['message']} `{row['array']}`", f"{row['size']:,} bytes", *factors))
    return table


def aligned(table: Table) -> str:
    """A table for a terminal."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table)
    return "\n".join(lines)


def _piped(table: Table) -> str:
    head, *rows = table
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ("---",) * len(head), *rows))


_INTRODUCTION = """\
# Benchmarks

This page compares tagwire, with its native and its pure engine, with the other Python libraries for Kafka's protocol,
and with msgspec and protobuf. `make bench` measured and wrote it: one run on each interpreter, each in its own
environment with the peers that `bench/requirements.txt` pins. `make bench BENCH=--quick` only checks that everything
works. `make bench-compare BASE=commit` compares two commits, or a commit and the working tree.

* **What.** Six messages. tagwire, kio and kafka-python speak the same versions and write the same bytes, which is
  checked before the timing. aiokafka lacks the flexible versions: its figures are for the version that is given beside
  them, which has less to read and to write. msgspec has three of the messages as MessagePack with the same content,
  protobuf the same three in its own format: fewer bytes, and no versions. protobuf makes the objects of a message on
  first access, so its decoding time does not include them. Contents: `bench/contents.py`.
* **Checks.** tagwire decodes strictly: it checks truncation, trailing bytes, overlong varints, impossible counts,
  UTF-8, illegal nulls, and the order of tags. The others check less.
* **How.** CPU time of the thread, medians. In each round every library runs once, in a random order. A ratio is taken
  within a round, and the middle half of the ratios is given beside it: 2.00x says that the other took twice as long.
  `gc=False` and `views=True` are compared with the plain decoding of libraries that have neither. The garbage
  collector is on. The machine was shared: compare figures within a table, not between tables or pages.
* **decode+touch all** reads every field of every struct and every element of every array after decoding, in the same
  way for all libraries. It includes work that a library defers: protobuf's objects, and in tagwire the defaults that
  are structs. A large part of it is the reading itself, which is Python's. tagwire and kafka-python read the fields of
  all versions, kio those of one.
* **Columns.** `tagwire.arrow.decode_column` is compared with what a program does without it: decode each message, and
  make Arrow arrays of the attributes (`bench/columns.py`). All 100,000 objects are held at once, as programs do, so
  the garbage collector adds to that time. In batches of 2,000 the ratios are about half as high. The row with two
  threads is in wall time and needs idle cores.
* **Records.** Each library goes from the same keys and values to bytes and back, verifies the checksum, and looks at
  offset, timestamp, key, value and headers of each record. Java copies keys and values, as its consumer does. tagwire
  builds in two ways: from plain values with a call for each record, as the peers do, where the loop and the call are a
  good half of its time; and from `Record`s. The libraries compress (cramjam for tagwire and aiokafka), which for zstd
  is most of the time. lz4 uses the fast mode, as in Java: aiokafka saves some more bytes in five times the time.
* **What is not won.** If a message is mostly record bytes, every library mostly copies: a partition of the
  ProduceRequest is one object and one copy of a kilobyte, and allocating its memory takes longer than reading its
  bytes. A memoryview costs about as much as copying a kilobyte, so it pays for large records. CPython's own share of
  these rows is nine tenths, and [engine.md](engine.md#where-the-time-goes) shows how much is left to gain. aiokafka's
  messages are plain tuples, which are the cheapest to construct.
* **Import.** Each import runs in its own process, without the start-up files of an environment. The engine, or a
  message's serializers, are imported when a message is first encoded or decoded.
* **Memory of hostile inputs.** The inputs are made from the layouts: arrays of the elements that need most memory for
  their bytes (`tests/support/amplification.py`), for each message its worst array. The table has the worst messages
  of all. `views=True`, which makes a memoryview of each bytes field, costs most. About 0.2 MB of a peak do not depend
  on the input. The tests require peak memory below 150 times the input plus a fixed part.
* **Around the codec.** These are other operations on objects, compared with msgspec with structs of the same content,
  also made by keywords; its JSON has the names of its fields, and UUIDs in hex. Rejecting is compared with accepting:
  the same message has its last byte cut off, so that all is decoded before the fault is found. `trace` is compared
  with `decode`: a trace is rows of numbers until its nodes are accessed. `encoded_size` is compared with `encode`: it
  walks the values and writes nothing.
* **JSON in Java.** Kafka's own `JsonConverter` classes make nodes of Jackson, and Jackson makes text of these. They
  leave out records, so messages with records have no such rows.

![How many times tagwire's time each library takes](benchmarks.svg)"""
