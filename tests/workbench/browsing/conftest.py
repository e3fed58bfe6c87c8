from pathlib import Path

import pytest
from browsed import HEARTBEAT, METADATA, REPLY, line, write_lines


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A capture with three valid frames, two invalid lines, an empty line and a response without a request."""
    return write_lines(
        tmp_path / "a.jsonl",
        line("req", METADATA, client_label="alice's tool"),
        line("req", HEARTBEAT, 2),
        line("resp", REPLY),
        "not JSON",
        line("req", METADATA[:-3], 2),
        "",
        line("resp", REPLY, 3),
    )
