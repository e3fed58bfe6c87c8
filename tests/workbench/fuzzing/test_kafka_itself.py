"""Let Kafka's own message classes read and write mutations.

Kafka must read valid mutations and write the same bytes. It must accept an invalid mutation if and only if tagwire's
lenient reader does, with one exception: Kafka rejects a tag that is only defined in other versions.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka_jars import kafka_jars
from mutation_claims import mutations

from tagwire import DecodeError
from tagwire_messages import registry
from tagwire_workbench.fuzzing.mutate import Mutation

pytestmark = pytest.mark.thorough
LEFT_OUT = r"\?|! Tag \d+ is not valid for version \d+"
PROGRAM = Path(__file__).with_name("ReadAndWrite.java")


def all_mutations() -> Iterator[Mutation]:
    for name in registry:
        cls = registry[name]
        for version in cls.VERSIONS if cls.KIND in ("request", "response") else ():
            yield from mutations(registry, cls, version, 4)


def differences(mutation: Mutation, answer: str) -> Iterator[str]:
    if mutation.kind == "valid" and mutation.canonical and answer != mutation.data.hex():
        yield "is valid, and not written back"
    try:
        ours = mutation.message.decode(mutation.data, mutation.version, strict=False).encode(mutation.version).hex()
    except DecodeError:
        ours = "!"
    if ours.startswith("!") != answer.startswith("!"):
        yield f"is {'rejected' if ours == '!' else 'accepted'} by our lenient reader"
    elif not answer.startswith(("!", "~")) and answer != ours:
        yield f"is written by us as {ours}"


def test_kafka_reads_and_writes_what_is_claimed(tmp_path: Path) -> None:
    words = ["java", "-cp", f"{kafka_jars(tmp_path)}/*", str(PROGRAM)]
    all_of_them = list(all_mutations())
    lines = [f"{m.message.KIND} {m.message.API_KEY} {m.version} {m.data.hex()}\n" for m in all_of_them if m.message]
    done = subprocess.run(words, input="".join(lines), capture_output=True, text=True, check=True, timeout=300)
    answers = done.stdout.splitlines()
    assert len(answers) == len(all_of_them) > 10_000
    known = [(m, answer) for m, answer in zip(all_of_them, answers, strict=True) if not re.match(LEFT_OUT, answer)]
    assert len(known) > len(all_of_them) / 2
    found = [(m.changes, m.data.hex(), answer, text) for m, answer in known for text in differences(m, answer)]
    assert not found, "\n".join(map(str, found))
