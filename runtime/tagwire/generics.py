"""A `Generic` for classes whose type parameters matter only to type checkers. Importing `typing` would be slow.

At run time, a parameter may be anything, such as a class name: generated requests extend `Message["RequestHeader"]`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Generic
else:
    from types import GenericAlias

    class Generic:
        """Replaces `typing.Generic`, which is slow to import. Supports expressions such as `Frame[M, H]`."""

        __slots__ = ()
        __class_getitem__ = classmethod(GenericAlias)


__all__ = ["Generic"]
