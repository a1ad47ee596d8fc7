"""The URL Server as a daemon: the coordinator's loop, with Spiders at the end of wires as its crew.

It schedules, asks robots.txt and resolves names as in a crawl, with the very same code; it fetches
no page and writes no archive. What the Spiders fetch is committed by the store server of the same
workspace, where the URL Server finds it (`crawl/deliveries.py`).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog.catalog import Catalog
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import Clock, SystemClock
from gossamer.config.settings import Settings
from gossamer.crawl.coordinator import Coordinator
from gossamer.crawl.deliveries import Deliveries
from gossamer.crawl.memory import calm_collector
from gossamer.crawl.parts import Parts
from gossamer.crawl.pipeline import Ground, Summary, locked, summary_of, wired
from gossamer.crawl.progress import Progress
from gossamer.crawl.seeds import canonical_starts, reconsider, seed
from gossamer.crawl.signals import signals
from gossamer.crawl.stops import Stop, Stops
from gossamer.crawl.workspace import Workspace
from gossamer.daemons.endpoints import require_trust
from gossamer.daemons.peers import Endpoint, load_secret, parse_target
from gossamer.daemons.spider_notes import Notes
from gossamer.daemons.spiders import WireCrew
from gossamer.errors import InputError
from gossamer.spider.spider import Spider
from gossamer.url.address import AddressPolicy

# A daemon is told to end; that is no failure of it.
_TOLD: Final = frozenset({"terminated", "interrupted"})


class Plan(Struct, frozen=True):
    """What a URL Server is to do."""

    directory: Path
    start_urls: tuple[str, ...] = ()
    spiders: tuple[str, ...] = ()
    """`HOST:PORT` of each; none: the one that the settings name."""
    insecure: bool = False
    until_idle: bool = False
    recrawl: bool = False


def serve_urls(
    plan: Plan,
    settings: Settings,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    tell: Callable[[str], None] = lambda _: None,
    clock: Clock | None = None,
) -> Summary:
    """Give Spiders the URLs of a workspace until a signal comes, or until nothing is left."""
    clock = clock or SystemClock()
    stops = Stops()
    starts = canonical_starts(plan.start_urls, settings)
    secret = load_secret(settings.wire)
    endpoints = spiders_of(plan, settings, has_secret=secret is not None)
    workspace = Workspace(plan.directory)
    began = clock.monotonic()
    calm_collector()
    with (
        locked(workspace, clock, "url-server"),
        SqliteCatalog.open(workspace.catalog, settings.catalog, shared=True) as catalog,
    ):
        last_fetch_id = catalog.last_fetch_id()
        ground = _prepared(workspace, catalog, starts, settings, stops, clock)
        notes = Notes(tell, clock)

        def crew(loop: Spider, policy: AddressPolicy) -> WireCrew:
            del policy
            return WireCrew(endpoints, secret, settings, loop, clock, notes)

        with wired(ground, crew, shared=True) as parts:
            coordinator = Coordinator(
                parts,
                on_progress,
                deliveries=_deliveries(parts, last_fetch_id, recrawl=plan.recrawl),
                until_idle=plan.until_idle,
                grace_seconds=settings.urlserver.grace_seconds,
            )
            with signals(stops, parts.spider):
                stop = coordinator.run()
        progress = coordinator.progress()
    return summary_of(_as_daemon(stop), progress, clock.monotonic() - began)


def spiders_of(plan: Plan, settings: Settings, *, has_secret: bool) -> list[Endpoint]:
    """Return where the Spiders are; complain of those that may not be spoken to as things are."""
    urlserver = settings.urlserver
    endpoints = [parse_target(text) for text in dict.fromkeys(plan.spiders)]
    if not endpoints and urlserver.spider_port:
        endpoints = [Endpoint(urlserver.spider_host, urlserver.spider_port)]
    if not endpoints:
        raise InputError(
            "no Spider is named; give --spider HOST:PORT, or set Spider_Host and Spider_Port in "
            "[urlserver]"
        )
    for endpoint in endpoints:
        require_trust(endpoint, has_secret=has_secret, insecure=plan.insecure)
    return endpoints


def _prepared(
    workspace: Workspace,
    catalog: Catalog,
    starts: Sequence[str],
    settings: Settings,
    stops: Stops,
    clock: Clock,
) -> Ground:
    """Begin a run: leases whose results are on their way stay as they are."""
    wall = clock.time()
    seeds, _ = seed(catalog, starts, wall)
    recovery = catalog.begin_run(wall, keep_delivered_seconds=settings.urlserver.delivery_seconds)
    reconsider(catalog, seeds, settings, wall)
    workspace.keep_settings(settings)
    return Ground(workspace, catalog, recovery, tuple(seeds), settings, stops, clock)


def _deliveries(parts: Parts, last_fetch_id: int, *, recrawl: bool) -> Deliveries:
    return Deliveries(
        parts.settings.urlserver,
        parts.clock,
        parts.urlserver,
        parts.ledger,
        parts.keeper,
        last_fetch_id,
        recrawl=recrawl,
    )


def _as_daemon(stop: Stop) -> Stop:
    if stop.reason not in _TOLD:
        return stop
    return replace(stop, exit_code=0, message="stopped; what was open is given back")
