import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pyspark
import pytest
from small_logs import flip
from written_logs import SAMPLE

from tagwire_cli import spark_submit

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("can_start_spark")]


def _run(*arguments: object) -> tuple[int, str, str]:
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run([*map(str, arguments)], capture_output=True, text=True, timeout=300, env=environment)
    return done.returncode, done.stdout, done.stderr


def test_error_of_a_damaged_log_is_one_line(tmp_path: Path) -> None:
    (segment,) = copytree(SAMPLE / "orders-1", tmp_path / "logs" / "orders-1").glob("*.log")
    flip(segment, 200)
    output = tmp_path / "out"
    tagwire = (sys.executable, "-m", "tagwire_cli", "spark", "convert", "--master", "local[2]")
    status, out, err = _run(*tagwire, tmp_path / "logs", "--codec", "zstd", "--output", output)
    assert (status, out) == (1, "")
    assert err.splitlines()[-1].startswith(f"tagwire: [MALFORMED_KAFKA_LOG] {segment}: v2: crc at byte 17: ")
    assert "Stage" not in err and "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_spark_submit(tmp_path: Path) -> None:
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    page = tmp_path / "page.html"
    arguments = ("whatif", SAMPLE, "--to", "v3", "--json", "--html", page)
    status, out, err = _run(submit, "--master", "local[2]", spark_submit.__file__, *arguments)
    assert status == 0, err
    assert json.loads(out)["total"]["records"] == 60 and "orders" in page.read_text(encoding="utf-8")
    status, out, err = _run(submit, "--master", "local[2]", spark_submit.__file__, "whatif", SAMPLE, "--to", "v77")
    assert status == 2 and "there is no record format 'v77'" in out + err  # spark-submit may write errors to `out`
