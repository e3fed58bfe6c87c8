from pathlib import Path

import pytest
from browsed import listing_of

from tagwire.errors import TagwireError


def test_other_files_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\xff\xfe other")
    with pytest.raises(TagwireError, match=r"begins with ff fe 20 .* --frames request or response"):
        listing_of(tmp_path / "a.bin")
    (tmp_path / "folder").mkdir()
    with pytest.raises(TagwireError, match="no partition found"):
        listing_of(tmp_path / "folder")
