"""What is known of a host name."""

from msgspec import Struct

from gossamer.outcomes import Outcome


class Resolution(Struct, frozen=True):
    """The answer to one question about a name: addresses, or why there are none."""

    addresses: tuple[str, ...]
    expires_at: float
    """Monotonic time until which this may be used."""
    outcome: Outcome | None = None
    detail: str = ""


def refused(resolution: Resolution, detail: str) -> Resolution:
    """Return the resolution of a name whose addresses the address policy forbids."""
    return Resolution((), resolution.expires_at, Outcome.POLICY_PRIVATE_ADDRESS, detail)
