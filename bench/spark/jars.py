"""What runs inside Spark's JVM beside us, for the benchmark of messages: jars that Maven brings into build/spark-jars.

`from_avro` is in a jar of Spark's own. `from_protobuf` is as well, in one that
not every mirror has; ProtobufColumns.scala does what it does, compiled by the
Scala compiler that PySpark brings along. Where there is no way to a jar, the
rows that need it are left out, and the reason is told.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pyspark

__all__ = ["AVRO", "PROTOBUF", "find_jars", "settings_of"]

AVRO: Final = "spark-avro"
PROTOBUF: Final = "tagwire-bench"
_ROOT: Final = Path(__file__).parents[2]
_FOLDER: Final = _ROOT / "build" / "spark-jars"
_SCALA: Final = Path(__file__).with_name("ProtobufColumns.scala")
_ARTIFACTS: Final = {
    AVRO: "org.apache.spark:spark-avro_2.13:4.1.1",
    "protobuf": "com.google.protobuf:protobuf-java:4.29.3",
}
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_SECONDS: Final = 60


def find_jars() -> dict[str, Path]:
    """The jars that there are or can be had, by name; what can't be is told."""
    found: dict[str, Path] = {}
    for name, artifact in _ARTIFACTS.items():
        try:
            found[name] = _fetched(artifact)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"not to be had: {artifact}: {_why(error)}")
    if "protobuf" in found:
        try:
            found[PROTOBUF] = _compiled(found["protobuf"])
        except (OSError, subprocess.SubprocessError) as error:
            print(f"not compiled: {_SCALA.name}: {_why(error)}")
    return found


def settings_of(jars: dict[str, Path]) -> dict[str, str]:
    """The settings of a local session that has them."""
    settings = {"spark.driver.extraClassPath": os.pathsep.join(map(str, jars.values()))} if jars else {}
    if PROTOBUF in jars:
        settings["spark.sql.extensions"] = "tagwire.bench.ProtobufColumns"
    return settings


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


def _compiled(protobuf: Path) -> Path:
    jar = _FOLDER / f"{PROTOBUF}.jar"
    if not jar.exists() or jar.stat().st_mtime < _SCALA.stat().st_mtime:
        path = os.pathsep.join((str(Path(pyspark.__file__).parent / "jars" / "*"), str(protobuf)))
        _run(["java", "-cp", path, "scala.tools.nsc.Main", "-usejavacp", "-d", str(jar), str(_SCALA)])
    return jar


def _run(command: list[str], *, check: bool = True) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, check=check, timeout=_SECONDS, text=True, stdin=subprocess.DEVNULL, capture_output=True
    )


def _why(error: Exception) -> str:
    """The first line of what a program said that failed, or else the error."""
    said = getattr(error, "stdout", "") or getattr(error, "stderr", "") or str(error)
    return str(said).strip().splitlines()[0][:200]
