"""Run a read, a write and jobs with Spark's speculative execution of tasks.

Speculation needs two workers with different host names. The first attempt of a task pauses until a second attempt has
finished. In one job, the first attempt kills its executor instead.
"""

import os
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep

import pyspark
import pytest

from tagwire import log
from tagwire.records import Record, build

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.usefixtures("can_start_spark"),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has more than one loopback address"),
]

HOSTS = ("127.0.0.1", "127.0.0.2")
SETTINGS = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.executor.memory": "512m",
    "spark.driver.bindAddress": HOSTS[0],
    "spark.driver.host": HOSTS[0],
    "spark.ui.enabled": "false",
}
PROGRAM = """
import os, pickle, signal, sys, time
from importlib import import_module
from pathlib import Path
from pyspark.sql import SparkSession, functions as F
from tagwire_spark import spark_conf
from tagwire_spark.jobs import compact_logs, convert_logs, export_logs, tasks
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_write.driver import LogWriter
from tagwire_spark.log_write.target import log_target
from tagwire_spark.log_source import LogReader, LogSource

folder = Path(sys.argv[1])

def is_first(name):
    try:
        (folder / f"{name}.first").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True

def wait(name):
    '''Wait until the second attempt has finished, for at most five minutes.'''
    end = time.monotonic() + 300
    while not (folder / f"{name}.second").exists() and time.monotonic() < end:
        time.sleep(0.1)

class Writer(LogWriter):
    def write(self, iterator):
        batches = list(iterator)
        is_slow = any(0 in batch.column("offset").to_pylist() for batch in batches)
        staged = super().write(halves(batches, "write") if is_slow else iter(batches))
        if is_slow:
            (folder / "write.second").touch()
        return staged

class Reader(LogReader):
    def read(self, partition):
        is_slow = partition.value[0].file.endswith(f"/{0:020}.log")
        yield from halves(super().read(partition), "read") if is_slow else super().read(partition)
        if is_slow:
            (folder / "read.second").touch()

def halves(batches, name):
    for batch in batches:
        yield batch.slice(0, batch.num_rows // 2)
        if is_first(name):
            wait(name)
        yield batch.slice(batch.num_rows // 2)

class Source(LogSource):
    @classmethod
    def name(cls):
        return "kafka_log_slow"
    def reader(self, schema):
        return Reader(log_query(self.options), schema, schema.names)
    def writer(self, schema, overwrite):
        return Writer(log_target(self.options), overwrite=overwrite)

spark = SparkSession.builder.config(map=spark_conf()).getOrCreate()
spark.dataSource.register(Source)
columns = "'t' AS topic", "0 AS partition", "id AS offset", "repeat('v', 50) AS value"
rows = spark.range(0, 4000, 1, 4).selectExpr(*columns)
rows.write.format("kafka_log_slow").mode("append").save(str(folder / "logs"))
found = spark.read.format("kafka_log_slow").option("minPartitions", 4).load(str(folder / "logs"))
assert sorted(row.offset for row in found.select("offset").collect()) == [*range(4000)]

def kill_executor(name):
    process = Path("/proc/self")
    while b"CoarseGrainedExecutorBackend" not in (process / "cmdline").read_bytes():
        process = Path("/proc", (process / "stat").read_text().rpartition(")")[2].split()[1])
    os.kill(int(process.name), signal.SIGKILL)

def local(spark, units, sizes, work):
    return [pickle.loads(pickle.dumps(work(pickle.loads(pickle.dumps(unit))))) for unit in units]

def disturbed(name, act):
    '''Return a replacement for `run_units`. The first attempt of one unit writes half of its files and calls `act`.'''
    def run(spark, units, sizes, work):
        def done(unit):
            result = work(unit)
            if pickle.dumps(unit) == slow:
                if is_first(name):
                    [written] = (folder / "jobs").glob(f".*/attempts/{result.attempt}")
                    for path in files(written):
                        os.truncate(written / path, (written / path).stat().st_size // 2)
                    act(name)
                    os._exit(1)
                (folder / f"{name}.second").touch()
            return result
        slow = pickle.dumps(units[0]) if units else b""
        return tasks.run_units(spark, units, sizes, done)
    return run

def files(root):
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}

tasks.TASK_BYTES = 0  # each unit has its own task
JOBS = [
    ("export", wait, export_logs, {}),
    ("convert", wait, convert_logs, {"codec": "zstd"}),
    ("compact", wait, compact_logs, {"now": 1 << 50, "include_active": True}),
    ("export", kill_executor, export_logs, {}),
]
for number, (name, act, job, options) in enumerate(JOBS):
    module = import_module(f"tagwire_spark.jobs.{name}")
    module.run_units = local
    job(spark, folder / "source", folder / "jobs" / f"{number}-expected", **options)
    module.run_units = disturbed(f"{number}-{name}", act)
    job(spark, folder / "source", folder / "jobs" / str(number), **options)
    assert files(folder / "jobs" / str(number)) == files(folder / "jobs" / f"{number}-expected") != {}, name
spark.stop()
"""


@contextmanager
def started(log_file: Path, service: str, *arguments: str) -> Generator[str]:
    """Run the master or a worker of a standalone cluster during the `with` block, and yield the master's URL."""
    spark_class = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    command = [spark_class, f"org.apache.spark.deploy.{service}", *arguments, "--webui-port", "0"]
    environment = {**os.environ, "SPARK_LOCAL_IP": HOSTS[0]}
    with log_file.open("w") as output, subprocess.Popen(command, stderr=output, env=environment) as process:
        try:
            end = monotonic() + 120
            while (found := re.search(r"(?:aster at|with master) (spark://\S+)", log_file.read_text())) is None:
                assert monotonic() < end and process.poll() is None, log_file.read_text()[-2000:]
                sleep(0.2)
            yield found[1]
        finally:
            process.terminate()


def test_second_attempts_neither_lose_nor_repeat_rows(tmp_path: Path) -> None:
    program, path = tmp_path / "program.py", [each for each in sys.path if each]
    program.write_text(PROGRAM)
    for partition in range(4):
        segment = tmp_path / "source" / f"t-{partition}" / f"{0:020}.log"
        segment.parent.mkdir(parents=True)
        records = [Record(n, 1_700_000_000_000, b"%d" % (n % 40), b"value %d" % n) for n in range(100)]
        segment.write_bytes(build(records[:50], "v2").encode() + build(records[50:], "v2").encode())
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": HOSTS[0]}
    environment["PYTHONPATH"] = os.pathsep.join(path)
    command = [str(Path(sys.executable).with_name("spark-submit"))]
    command += [part for pair in SETTINGS.items() for part in ("--conf", "=".join(pair))]
    with ExitStack() as stack:
        master = ("master.Master", "--host", HOSTS[0], "--port", "0")
        url = stack.enter_context(started(tmp_path / "master.log", *master))
        for host in HOSTS:
            worker = ("worker.Worker", "--host", host, "-c", "1", "-m", "600m", "-d", str(tmp_path / "work"), url)
            stack.enter_context(started(tmp_path / f"{host}.log", *worker))
        command += ["--master", url, str(program), str(tmp_path)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=600, check=False, env=environment, cwd=tmp_path
        )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-4000:]
    offsets = [record.offset for batch in log.read(tmp_path / "logs" / "t-0") for record in batch]
    assert offsets == [*range(4000)]
    assert {each.name for each in (tmp_path / "logs").iterdir()} == {"t-0", "_SUCCESS"}
    for name in ("read", "write", "0-export", "1-convert", "2-compact", "3-export"):
        assert (tmp_path / f"{name}.first").exists() and (tmp_path / f"{name}.second").exists()
    outputs = {f"{number}{end}" for number in range(4) for end in ("", "-expected")}
    assert {each.name for each in (tmp_path / "jobs").iterdir()} == outputs
