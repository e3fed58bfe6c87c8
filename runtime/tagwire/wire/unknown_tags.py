"""The empty mapping of unknown tagged fields, in a small separate module because every data class imports it."""

from __future__ import annotations

from types import MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

NO_TAGS: Final[Mapping[int, bytes]] = MappingProxyType({})
"""The shared empty mapping, which the fast path recognizes by identity."""
WITHOUT_TAGS: Final[tuple[object, ...]] = (NO_TAGS,)
"""`tags in WITHOUT_TAGS` is the fastest way to test whether the mapping `tags` is empty."""
