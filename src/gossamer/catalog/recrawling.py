"""Re-crawling, as far as the catalog knows of it: which sites and URLs are due again.

A site that is re-crawled is locked: it gets no new batches. Where it is in the process stays in its
row, so that whoever runs next goes on where the last one stopped.
"""

from enum import IntEnum
from typing import Final

from msgspec import Struct

from gossamer.catalog.batch_facts import BatchOrder, Memo, Wanted
from gossamer.catalog.batches import BatchCommit
from gossamer.catalog.connection import Database
from gossamer.catalog.queries import load_queries
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.service_members import changing, find_site, renew_members
from gossamer.catalog.service_selection import select_urls
from gossamer.catalog.site_book import BATCHES
from gossamer.objects.enumerations import CrawlerType
from gossamer.objects.selection import Criterions

RECRAWLING: Final = load_queries("recrawling.sql")
_AT_ONCE: Final = 1_000


class Phase(IntEnum):
    """Where a site is in its re-crawl."""

    RESTS = 0
    LOCKED = 1
    """Its batches run out."""
    RENEWED = 2
    """Its URLs are new."""


class AgingSite(Struct, frozen=True):
    """A site whose URLs grow old."""

    number: int
    id: str
    recrawl_period: float
    """Minutes; 0: the site has a condition of its own."""


def due_sites(database: Database, now: float, limit: int) -> list[str]:
    """Return sites whose date of re-crawl has passed."""
    with database.reading("look for sites to re-crawl") as connection:
        rows = connection.execute(RECRAWLING["due_sites"], {"now": now, "limit": limit})
        return [row[0] for row in rows]


def count_due(database: Database, now: float) -> int:
    """Return how many sites wait for their re-crawl."""
    with database.reading("count sites to re-crawl") as connection:
        return int(connection.execute(RECRAWLING["count_due"], (now,)).fetchone()[0])


def sites_at_work(database: Database, now: float) -> list[tuple[str, Phase]]:
    """Return sites whose wait in a phase of their re-crawl is over."""
    with database.reading("look for sites in re-crawl") as connection:
        rows = connection.execute(RECRAWLING["sites_at_work"], (now,))
        return [(site_id, Phase(phase)) for site_id, phase in rows]


def count_at_work(database: Database) -> int:
    """Return how many sites are being re-crawled."""
    with database.reading("count sites in re-crawl") as connection:
        return int(connection.execute(RECRAWLING["count_at_work"]).fetchone()[0])


def has_work_left(database: Database, site_id: str) -> bool:
    """Whether a site has new URLs, or some that wait for processing."""
    with database.reading("look at a site") as connection:
        site = find_site(connection, site_id)
        if site is None:
            return False
        row = connection.execute(RECRAWLING["has_work_left"], {"set_id": site.set_id}).fetchone()
        return bool(row[0])


def begin_recrawl(
    catalog: ServiceCatalog,
    site_id: str,
    now: float,
    *,
    period_minutes: float,
    next_date: float,
    until: float,
) -> bool:
    """Lock a site, count the iteration and set its next date; False if somebody was quicker."""
    with changing(catalog, "begin a re-crawl", now) as change:
        site = find_site(change.connection, site_id)
        if site is None:
            return False
        values = {
            "site_id": site.site_id,
            "until": until,
            "period": period_minutes,
            "next": next_date,
        }
        return change.connection.execute(RECRAWLING["begin_site"], values).rowcount > 0


def renew_urls(catalog: ServiceCatalog, site_id: str, where: str, now: float, until: float) -> int:
    """Make URLs of a locked site new, and go on to the next phase; return how many there were.

    All in one transaction. Without a condition no URL becomes new; CriterionError for one that
    cannot be used.
    """
    with changing(catalog, "make URLs new", now) as change:
        site = find_site(change.connection, site_id)
        if site is None:
            return 0
        values = {
            "site_id": site.site_id,
            "before": int(Phase.LOCKED),
            "phase": int(Phase.RENEWED),
            "until": until,
        }
        if not change.connection.execute(RECRAWLING["go_on"], values).rowcount or not where:
            return 0
        doc_ids = select_urls(change.connection, site, Criterions(where=where), now)
        query = RECRAWLING["renew_members"]
        return sum(
            renew_members(change, site, doc_ids[start : start + _AT_ONCE], query)
            for start in range(0, len(doc_ids), _AT_ONCE)
        )


def end_recrawl(catalog: ServiceCatalog, site_id: str, now: float) -> None:
    """Unlock a site: its batches are made again."""
    with changing(catalog, "end a re-crawl", now) as change:
        site = find_site(change.connection, site_id)
        if site is not None:
            values = {
                "site_id": site.site_id,
                "before": int(Phase.RENEWED),
                "phase": int(Phase.RESTS),
                "until": None,
            }
            change.connection.execute(RECRAWLING["go_on"], values)


def make_incremental_batch(
    catalog: ServiceCatalog,
    *,
    size: int,
    max_depth: int,
    now: float,
    seconds: float,
    max_batches: int,
) -> tuple[int, list[tuple[int, int]]]:
    """Select URLs that have probably changed and begin a batch of them, in one transaction."""
    kind = int(CrawlerType.INCREMENTAL)
    with catalog.changing("select changed URLs", now) as (connection, memory, _):
        (count,) = connection.execute(BATCHES["open_batches"], (kind,)).fetchone()
        if count >= max_batches:
            return 0, []
        values = {"depth": max_depth, "now": now, "limit": size}
        items = connection.execute(RECRAWLING["probably_changed"], values).fetchall()
        if not items:
            return 0, []
        order = BatchOrder(kind, seconds)
        wanted = [Wanted(*item) for item in items]
        return BatchCommit(connection, memory, Memo(), now).accept(order, wanted)


def aging_sites(database: Database, after: int, limit: int) -> list[AgingSite]:
    """Return the next sites whose URLs grow old, by their numbers."""
    with database.reading("look for aging sites") as connection:
        rows = connection.execute(RECRAWLING["aging_sites"], {"after": after, "limit": limit})
        return [AgingSite(*row) for row in rows]
