"""Settings of a crawl of one site: what differs from a crawl of many.

One host, asked by one person who waits for it: no gap between requests unless the site asks for
one, a second try at the end, names resolved once (B10), nothing followed from copies (B6).
"""

from msgspec.structs import replace

from gossamer.config.load import Loaded
from gossamer.config.settings import Settings
from gossamer.site.observation import HANDLER

CONCURRENCY = 8
TRIES = 2
"""Of a URL that fails for a passing reason, in all."""
MAX_WORKERS = 2
"""Two keep up with what one site gives; each more costs its start."""

_LONG_SECONDS = 86_400.0

DEFAULTS: dict[str, dict[str, object]] = {
    "crawl": {"concurrency": CONCURRENCY, "patience_seconds": 20.0},
    "urlserver": {
        "host_per_second": 0.0,
        # All come from one queue: half of it lasts longer than a transaction takes.
        "queue_len": 2_000,
        # The second is for the end of the crawl (survey.py).
        "max_tries": 1,
        "retry_soon_seconds": 0.5,
        "retry_back_off_seconds": 0.5,
        # Longer than patience: a robots.txt that cannot be read ends the crawl at once.
        "robots_retry_seconds": 30.0,
        "dns_min_ttl_seconds": _LONG_SECONDS,
        "dns_max_ttl_seconds": _LONG_SECONDS,
    },
    "catalog": {"follow_duplicates": False},
}
"""They count where neither a settings file nor a flag says otherwise."""


def site_settings(loaded: Loaded, *, fingerprints: bool, cores: int) -> Settings:
    """Return the settings of a crawl of one site; `fingerprints` of pages cost time."""
    settings = loaded.settings
    changes = {table: dict(entries) for table, entries in DEFAULTS.items()}
    changes["crawl"]["workers"] = min(cores, MAX_WORKERS)
    changes["parse"] = {"near_duplicates": fingerprints}
    for table, entries in changes.items():
        given = {name for where, name in loaded.origins if where == table}
        own = {name: value for name, value in entries.items() if name not in given}
        settings = replace(settings, **{table: replace(getattr(settings, table), **own)})
    return _with_pace(_with_handler(settings), loaded)


def in_order(settings: Settings) -> Settings:
    """Return settings under which the ring follows no link that it was not told to (survey.py).

    Only where so many pages are wanted and no more: it costs a pause between two levels of links.
    """
    if not settings.crawl.max_pages:
        return settings
    return replace(settings, crawl=replace(settings.crawl, max_pages=0, max_depth=0))


def _with_handler(settings: Settings) -> Settings:
    """Let workers note what the map needs, after handlers of the user's own."""
    handlers = settings.handlers
    use = tuple(name for name in handlers.use if name != HANDLER)
    return replace(settings, handlers=replace(handlers, use=(*use, HANDLER)))


def _with_pace(settings: Settings, loaded: Loaded) -> Settings:
    """Let all requests that may be open go to the one host."""
    given = loaded.origins
    concurrency = min(settings.crawl.concurrency, 10_000)
    wanted = {
        "host_concurrent": concurrency,
        "address_concurrent": concurrency,
        "queue_len": max(settings.urlserver.queue_len, 2 * concurrency),
    }
    own = {name: value for name, value in wanted.items() if ("urlserver", name) not in given}
    return replace(settings, urlserver=replace(settings.urlserver, **own))
