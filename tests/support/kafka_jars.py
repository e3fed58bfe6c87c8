"""Find the jars of a Kafka broker, for tests that run Kafka's own code.

`TAGWIRE_BROKER_JARS` may name a folder with kafka_2.13 (version `VERSION`), its dependencies, and an slf4j binding.
Otherwise, Maven copies or downloads the jars. If this takes more than a minute, the test is skipped.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

VERSION = "4.0.2"
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>broker</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>1.7.36</version></dependency>
</dependencies></project>"""
COPY = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"]
SECONDS = 60


def kafka_jars(folder: Path) -> Path:
    """Return a folder with the jars. Maven copies them to `folder` if necessary. Without jars, skip the test."""
    if not shutil.which("java"):
        pytest.skip("there is no java")
    if "TAGWIRE_BROKER_JARS" in os.environ:
        return Path(os.environ["TAGWIRE_BROKER_JARS"])
    if not shutil.which("mvn"):
        pytest.skip("there is no mvn, which would bring the broker's jars")
    (folder / "pom.xml").write_text(POM)
    output = ""
    for options in (["--offline"], []):
        try:
            done = subprocess.run(
                [*COPY, *options], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"Maven takes more than {SECONDS} s to bring the broker's jars")
        if done.returncode == 0:
            return folder / "lib"
        output = done.stdout[-200:]
    pytest.skip(f"Maven can't bring the broker's jars: {output}")
