import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command import tagwire_result

pytestmark = pytest.mark.spark
DATA = Path(__file__).parents[3] / "data"
CAPTURES = DATA / "captures" / "captures.jsonl.gz"


def test_audit_as_a_command(spark_command: Any) -> None:
    code, out, _ = spark_command("audit", CAPTURES, "--rejected-by", "4.0")
    assert code == 1 and out.splitlines()[0].split()[:3] == ["client", "api", "version"]
    code, out, _ = spark_command("audit", CAPTURES, "--json")
    schema = json.loads(tagwire_result("json-schema", "spark", "audit").stdout)
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and len(rows) > 100 and not [*jsonschema.Draft202012Validator({"items": schema}).iter_errors(rows)]
    code, out, err = spark_command("audit", "nowhere")
    assert (code, out) == (1, "") and err.startswith("tagwire: [KAFKA_LOG_NOT_FOUND] nowhere: ")
    code, out, err = spark_command("audit", Path(__file__))
    assert (code, out) == (1, "") and err.startswith("tagwire: [MALFORMED_CAPTURED_FRAMES]")


@pytest.mark.parametrize(
    "options", [["--conf", "a"], ["--conf", "=b"], ["--master", "local", "--remote", "sc://host"], ["--port", "0"]]
)
def test_options_of_commands_that_are_rejected(spark_command: Any, options: list[str]) -> None:
    assert spark_command("audit", CAPTURES, *options)[0] == 2
