from collections.abc import Callable

import pytest
from growth import cpu_seconds, grows_linearly, lines_run

from tagwire.explain.assemble import assemble

pytestmark = pytest.mark.thorough

TITLES = "offset  bytes  path  type  value\n"

TEXTS = {
    "a long line": lambda count: TITLES + "0       " + "00 " * count,
    "texts in a line": lambda count: TITLES + "0       " + '"a" ' * count,
    "lines that go on": lambda count: TITLES + "0       00     a     int8  0\n" + "        00 01 02 03\n" * count,
    "cells": lambda count: TITLES + "0       00" + "  a" * count,
    "colours": lambda count: TITLES + "0       00 " + "\x1b[1m" * count,
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("measure", [lines_run, cpu_seconds])
def test_assembling_grows_with_the_text(measure: Callable[..., float], name: str) -> None:
    def work_of(count: int) -> Callable[[], object]:
        text = TEXTS[name](count)
        return lambda: assemble(text)

    assert grows_linearly(measure, work_of, 200 if measure is lines_run else 2_000)
