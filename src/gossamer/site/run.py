"""A crawl of one site by the ring, and the map of it."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gossamer.catalog.catalog import SiteCatalog
from gossamer.config.settings import Settings
from gossamer.crawl.launch import Launched
from gossamer.crawl.pipeline import Summary
from gossamer.crawl.progress import Progress
from gossamer.crawl.workspace import Workspace
from gossamer.site.build import Look
from gossamer.site.failure import require_pages, start_trouble
from gossamer.site.model import SiteMap
from gossamer.site.notes import Notes
from gossamer.site.ring import Ring, TimeLimit
from gossamer.site.settings import in_order
from gossamer.site.survey import Survey
from gossamer.url.canonical import parse_start_url
from gossamer.url.parts import authority_of

if TYPE_CHECKING:
    from gossamer.site.recall import Recall


class Plan(Struct, frozen=True):
    """What is to be crawled, beside the settings."""

    start_url: str = ""
    """Empty: that of the workspace."""
    directory: Path | None = None
    """A workspace to keep everything in, or to go on with; None: nothing is kept."""
    max_seconds: float = 0.0
    """0: no limit."""
    all_links: bool = False
    """Note for every page, not only for those that failed, which pages link to it."""

    check_assets: bool = False
    """Look whether the assets are there."""


class Outing(Struct, frozen=True):
    """A map, and how the crawl behind it ended."""

    site_map: SiteMap
    summary: Summary
    start_trouble: str = ""
    """What is wrong with the start page; what a sitemap names is in the map all the same."""


def map_site(
    plan: Plan,
    settings: Settings,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    launched: Sequence[Launched] = (),
) -> Outing:
    """Crawl a site; return the map of what was reached. Complains if that is nothing at all."""
    began = time.monotonic()
    starts = [parse_start_url(plan.start_url, settings.url)] if plan.start_url else []
    notes = Notes()
    survey = Survey(starts[0] if starts else "", settings, notes)
    limit = TimeLimit(plan.max_seconds, on_progress)
    with closing(Ring(in_order(settings), survey.let_in, plan.directory, notes)) as ring:
        summary = ring.crawl(starts, limit, launched)
        with ring.reading() as catalog:
            moved_to = survey.moved_to(catalog)
        if moved_to is not None and limit.stops.requested is None:
            # The site has moved, to www for instance: both names are one site from now on (B8).
            summary = ring.crawl([moved_to], limit)
        with ring.reading() as catalog:
            look = _look(plan.directory, catalog, settings)
            site_map = survey.map_of(catalog, summary, all_links=plan.all_links, look=look)
            robots = catalog.robots(authority_of(site_map.start_url))
    site_map.seconds = time.monotonic() - began
    require_pages(site_map, summary, robots)
    if plan.check_assets:
        from gossamer.site.assets import check_assets  # noqa: PLC0415 - few ask for it

        summary = check_assets(site_map, settings, limit) or summary
    return Outing(site_map, summary, start_trouble(site_map))


def _look(directory: Path | None, catalog: SiteCatalog, settings: Settings) -> Look | None:
    """Return how to look at what another command fetched into this workspace."""
    if directory is None:
        return None
    archive = Workspace(directory).archive

    @cache
    def recall() -> "Recall":
        from gossamer.site.recall import Recall  # noqa: PLC0415 - few workspaces need it

        return Recall(archive, catalog, settings)

    return lambda doc_id: recall().observation(doc_id)
