"""What only the head of a record format has: its name for programs, its discriminator, what its proposal claims."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A figure of a proposal: `value` in `field` takes `bytes` bytes."""

    field: str
    value: int
    bytes: int
    text: str = ""
    """The claim in the proposal's own terms."""


@dataclass(frozen=True, slots=True)
class FormatSpec:
    """Belongs to a `MessageSpec` whose kind is `format`."""

    name: str
    """What programs call the format, such as `kip82-int+kip87`."""
    discriminator: str = ""
    """The field that tells formats apart."""
    claims: tuple[Claim, ...] = ()
