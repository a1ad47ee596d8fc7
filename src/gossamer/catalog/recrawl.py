"""When a page is worth another visit: a pure rule over its change history."""

from gossamer.config.catalog import CatalogSettings

# A page that changed is looked at twice as often; one that did not, two thirds as often. Halving
# faster than growing keeps the plan on the safe side of a page that changes now and then.
_FASTER = 0.5
_SLOWER = 1.5


def next_interval(
    previous_seconds: float | None, *, changed: bool, settings: CatalogSettings
) -> float:
    """Return the seconds until the next fetch; `previous_seconds` is None for the first visit."""
    if previous_seconds is None:
        interval = settings.recrawl_first_seconds
    else:
        interval = previous_seconds * (_FASTER if changed else _SLOWER)
    return min(max(interval, settings.recrawl_min_seconds), settings.recrawl_max_seconds)
