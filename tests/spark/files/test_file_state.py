import pytest

from tagwire_spark.errors import PipelineError
from tagwire_spark.files.file_state import FileState, check_unchanged

PLANNED = FileState(9, "inode 2", "modified at 0 ns")


@pytest.mark.parametrize("name", ["inode 1", "inode 3"])
@pytest.mark.parametrize("may_grow", [False, True])
def test_a_file_with_another_inode_was_replaced(name: str, may_grow: bool) -> None:
    with pytest.raises(PipelineError, match=rf"a\.log was replaced .* \(it was inode 2, and is now {name}\)"):
        check_unchanged("a.log", PLANNED, PLANNED._replace(name=name), end=9, may_grow=may_grow)
