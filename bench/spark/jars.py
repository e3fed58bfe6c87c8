"""What runs inside Spark's JVM beside us, for these benchmarks: jars that Maven brings into build/spark-jars.

`from_avro` is in a jar of Spark's own. `from_protobuf` is as well, in one that
not every mirror has; ProtobufColumns.scala does what it does. KafkaRecords.scala
reads logs with the classes of Kafka's own clients. Both are compiled by the
Scala compiler that PySpark brings along. Where there is no way to a jar, the
rows that need it are left out, and the reason is told.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

import pyspark

__all__ = ["AVRO", "PROTOBUF", "RECORDS", "find_jars", "settings_of"]

AVRO: Final = "spark-avro"
PROTOBUF: Final = "tagwire-bench"
RECORDS: Final = "tagwire-bench-records"
_ROOT: Final = Path(__file__).parents[2]
_FOLDER: Final = _ROOT / "build" / "spark-jars"
_ARTIFACTS: Final = {
    AVRO: "org.apache.spark:spark-avro_2.13:4.1.1",
    "protobuf": "com.google.protobuf:protobuf-java:4.29.3",
    "kafka-clients": "org.apache.kafka:kafka-clients:4.4.0",
}


class _Source(NamedTuple):
    """A jar of our own: what it is compiled from, the jar that it needs, and the extension that it is."""

    scala: Path
    needs: str
    extension: str


_SOURCES: Final = {
    PROTOBUF: _Source(Path(__file__).with_name("ProtobufColumns.scala"), "protobuf", "tagwire.bench.ProtobufColumns"),
    RECORDS: _Source(Path(__file__).with_name("KafkaRecords.scala"), "kafka-clients", "tagwire.bench.KafkaRecords"),
}
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_SECONDS: Final = 300


def find_jars(*names: str) -> dict[str, Path]:
    """Those of these jars, and what they need, that there are or can be had, by name; what can't be is told."""
    found: dict[str, Path] = {}
    for name in dict.fromkeys(_SOURCES[name].needs if name in _SOURCES else name for name in names):
        try:
            found[name] = _fetched(_ARTIFACTS[name])
        except (OSError, subprocess.SubprocessError) as error:
            print(f"not to be had: {_ARTIFACTS[name]}: {_why(error)}")
    for name, source in _SOURCES.items():
        if name in names and source.needs in found:
            try:
                found[name] = _compiled(name, source, found[source.needs])
            except (OSError, subprocess.SubprocessError) as error:
                print(f"not compiled: {source.scala.name}: {_why(error)}")
    return found


def settings_of(jars: dict[str, Path]) -> dict[str, str]:
    """The settings of a local session that has them."""
    settings = {"spark.driver.extraClassPath": os.pathsep.join(map(str, jars.values()))} if jars else {}
    extensions = [source.extension for name, source in _SOURCES.items() if name in jars]
    return settings | ({"spark.sql.extensions": ",".join(extensions)} if extensions else {})


def _fetched(artifact: str) -> Path:
    """The jar of an artifact: the one that is there, or that Maven has already, or can bring."""
    _, name, version = artifact.split(":")
    jar = _FOLDER / f"{name}-{version}.jar"
    if jar.exists():
        return jar
    if shutil.which("mvn") is None:
        raise OSError("there is no mvn")
    copy = ["mvn", "--quiet", "--batch-mode", _COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={_FOLDER}"]
    if _run([*copy, "--offline"], check=False).returncode:
        _run(copy)
    return jar


def _compiled(name: str, source: _Source, needed: Path) -> Path:
    jar = _FOLDER / f"{name}.jar"
    if not jar.exists() or jar.stat().st_mtime < source.scala.stat().st_mtime:
        path = os.pathsep.join((str(Path(pyspark.__file__).parent / "jars" / "*"), str(needed)))
        _run(["java", "-cp", path, "scala.tools.nsc.Main", "-usejavacp", "-d", str(jar), str(source.scala)])
    return jar


def _run(command: list[str], *, check: bool = True) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, check=check, timeout=_SECONDS, text=True, stdin=subprocess.DEVNULL, capture_output=True
    )


def _why(error: Exception) -> str:
    """The first line of what a program said that failed, or else the error."""
    said = getattr(error, "stdout", "") or getattr(error, "stderr", "") or str(error)
    return str(said).strip().splitlines()[0][:200]
