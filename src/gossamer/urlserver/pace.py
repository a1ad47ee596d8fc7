"""How fast one host and one address may be asked: the settings, worked out."""

from msgspec import Struct

from gossamer.config.urlserver import UrlServerSettings


class Pace(Struct, frozen=True):
    """Limits per host and per address; gaps are counted between request starts."""

    host_gap: float
    host_limit: int
    address_gap: float
    address_limit: int
    first_back_off: float
    max_back_off: float


def pace_of(settings: UrlServerSettings) -> Pace:
    """Work out the limits; unless told otherwise an address may be asked as often as two hosts."""
    address_rate = settings.address_per_second or 2 * settings.host_per_second
    return Pace(
        host_gap=1 / settings.host_per_second if settings.host_per_second else 0.0,
        host_limit=min(settings.host_concurrent, settings.queue_len),
        address_gap=1 / address_rate if address_rate else 0.0,
        address_limit=settings.address_concurrent or 2 * settings.host_concurrent,
        first_back_off=settings.retry_back_off_seconds,
        max_back_off=settings.max_back_off_seconds,
    )
