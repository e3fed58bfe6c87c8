import errno
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from small_logs import write_segment

from tagwire import log
from tagwire.log import whole_folder as module
from tagwire.log.checkpoints import TopicPartition, read_offsets, write_offsets
from tagwire.log.convert import Conversion, convert_partition, copy_directory_files
from tagwire.log.whole_folder import whole_folder
from tagwire.records import Record, build

_SLOW = """
import sys, time
from tagwire import log
from tagwire.log.convert import Conversion, convert_partition

def wait(count):
    print("at work", flush=True)
    sys.stdin.readline()

convert_partition(log.Partition(sys.argv[1]), sys.argv[2], Conversion("v3"), wait)
"""
_COMMANDS: dict[str, list[str]] = {"convert": ["--to", "v2"], "compact": ["--drop-keyless"], "salvage": []}


def partition(path: Path, batches: int = 1) -> Path:
    batch = build([Record(n, 5, b"k%d" % n, b"v") for n in range(10)], "v2")
    return write_segment(path, *(batch.replace(base_offset=10 * number) for number in range(batches))).parent


def at_once(*calls: Callable[[], object]) -> None:
    """Make each call in a thread of its own. All calls begin at the same time."""
    barrier = Barrier(len(calls))
    threads = [Thread(target=lambda call=call: (barrier.wait(), call())) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def records_of(path: Path) -> int:
    return sum(len(batch) for batch in log.read(path))


def cli(*words: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "tagwire_cli", *map(str, words)], capture_output=True, text=True)


@pytest.fixture
def slow(tmp_path: Path) -> Any:
    source = partition(tmp_path / "in" / "alpha-0")
    process = subprocess.Popen(
        [sys.executable, "-c", _SLOW, str(source), str(tmp_path / "out" / "alpha-0")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("command", _COMMANDS)
def test_second_run_reports_the_running_process(command: str, slow: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = cli("log", command, tmp_path / "in" / "alpha-0", *_COMMANDS[command], "--output", out)
    assert run.returncode == 1
    assert f"process {slow.pid} on {socket.gethostname()} is writing this folder" in run.stderr
    assert not (out / "alpha-0").exists()
    slow.communicate("\n")
    assert slow.returncode == 0
    assert records_of(out / "alpha-0") == 10
    assert [each.name for each in out.iterdir()] == ["alpha-0"]


def test_lock_file_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("x")
    (tmp_path / ".out.lock").symlink_to("home")
    with pytest.raises(log.LogPathError, match=r"\.out\.lock is a link; remove it"), whole_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "home").read_text() == "x"


def test_next_run_removes_leftovers_of_a_killed_run(slow: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    slow.kill()
    slow.wait()
    assert len(list(out.glob(".alpha-0.*.partial"))) == 1
    assert cli("log", "convert", tmp_path / "in" / "alpha-0", "--to", "v2", "--output", out).returncode == 0
    assert [each.name for each in out.iterdir()] == ["alpha-0"]


@pytest.mark.parametrize("command", _COMMANDS)
def test_the_longest_name_that_a_partition_can_have(command: str, tmp_path: Path) -> None:
    source = partition(tmp_path / f"{'t' * 249}-12345")
    source.chmod(0o700)
    done = cli("log", command, source, *_COMMANDS[command], "--output", tmp_path / "to")
    assert (done.returncode, done.stderr) == (0, "")
    assert records_of(tmp_path / "to" / source.name) == 10
    assert [(path.name, path.stat().st_mode & 0o777) for path in (tmp_path / "to").iterdir()] == [(source.name, 0o700)]


@pytest.mark.parametrize("command", _COMMANDS)
def test_stopped_run_over_many_partitions_continues(command: str, tmp_path: Path) -> None:
    for number in range(3):
        partition(tmp_path / "in" / f"alpha-{number}")
    out, done = tmp_path / "out", tmp_path / "out" / "alpha-1"
    words = ["log", command, tmp_path / "in", *_COMMANDS[command], "--output", out]
    assert cli(*words).returncode == 0
    written = {each.name: sorted(file.read_bytes() for file in each.iterdir()) for each in out.glob("alpha-*")}
    for number in (0, 2):
        for file in (out / f"alpha-{number}").iterdir():
            file.unlink()
        (out / f"alpha-{number}").rmdir()
    before = done.stat().st_mtime_ns
    rejected = cli(*words)
    assert rejected.returncode == 1
    assert f"{done} already exists" in rejected.stderr
    assert not (out / "alpha-0").exists()

    again = cli(*words, "--resume")
    assert again.returncode == 0
    assert f"{done} already exists; skipped" in again.stderr
    assert {each.name: sorted(file.read_bytes() for file in each.iterdir()) for each in out.glob("alpha-*")} == written
    assert done.stat().st_mtime_ns == before


def test_second_of_two_runs_without_locks_is_rejected_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "file_locks", lambda: None)
    target = tmp_path / "new" / "folder" / "alpha-0"

    def second() -> None:
        with whole_folder(target) as folder:
            (folder / "second").write_bytes(b"2")
            with whole_folder(target) as other:
                (other / "first").write_bytes(b"1")

    with pytest.raises(log.LogPathError, match="another run has written"):
        second()
    assert [each.name for each in target.iterdir()] == ["first"]
    assert [each.name for each in target.parent.iterdir()] == ["alpha-0"]


def test_one_of_many_threads_writes(tmp_path: Path) -> None:
    source = log.Partition(partition(tmp_path / "alpha-0", batches=50))
    rejected = []

    def run() -> None:
        try:
            convert_partition(source, tmp_path / "out", Conversion("v3"))
        except log.LogPathError as error:
            rejected.append(str(error))

    at_once(*[run] * 8)
    assert len(rejected) == 7
    assert records_of(tmp_path / "out") == 500
    # The error says "another process" if the other process hasn't written its name yet.
    writing = re.compile(rf"(process {os.getpid()} on \S+|another process) is writing this folder|already")
    assert all(writing.search(each) for each in rejected)


def test_checkpoints_that_two_runs_join_have_the_entries_of_both(tmp_path: Path) -> None:
    folders = []
    for number in range(8):
        folder = tmp_path / f"disk{number}"
        folder.mkdir()
        write_offsets(folder / "recovery-point-offset-checkpoint", {TopicPartition(f"t{number}", 0): number})
        folders.append(folder)
    target = tmp_path / "out"
    at_once(*(partial(copy_directory_files, [(folder, target)], keeps_producers=True) for folder in folders))
    joined = read_offsets(target / "recovery-point-offset-checkpoint")
    assert joined == {TopicPartition(f"t{number}", 0): number for number in range(8)}


def test_only_folders_may_be_on_a_system_that_cannot_flush_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(number: int) -> None:
        raise OSError

    monkeypatch.setattr(os, "fsync", fsync)
    file = tmp_path / "f"
    file.touch()
    module.on_disk(tmp_path)
    with pytest.raises(OSError):
        module.on_disk(file)


def test_folder_of_a_running_process_on_another_machine_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "host", lambda: "web")
    other = tmp_path / f".alpha-0.web-2-{'0' * 32}.partial"
    own = tmp_path / f".alpha-0.web-{'0' * 32}.partial"
    for folder in (other, own):
        folder.mkdir()
    with whole_folder(tmp_path / "alpha-0"):
        pass
    assert sorted(each.name for each in tmp_path.iterdir()) == [other.name, "alpha-0"]


def test_output_in_a_folder_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with permission to write, but not to read, a folder can be renamed but not flushed to disk."""
    opened = os.open

    def denied(path: Any, flags: int, mode: int = 0o777) -> int:
        if path == tmp_path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, flags, mode)

    monkeypatch.setattr(os, "open", denied)
    with whole_folder(tmp_path / "out") as partial_folder:
        (partial_folder / "file").write_text("x")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
