"""What the catalog tells of a site: what is missing at the end of a crawl, and then the map."""

import time
from collections.abc import Iterator
from typing import Final

from gossamer.catalog.catalog import Catalog
from gossamer.catalog.commit import OF_A_COPY
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.settings import Settings
from gossamer.crawl.pipeline import Summary
from gossamer.crawl.seeds import seeds_of
from gossamer.errors import InputError
from gossamer.outcomes import Outcome
from gossamer.site.build import Builder
from gossamer.site.closure import Closure, Names, OnPage, closure
from gossamer.site.model import SiteMap
from gossamer.url.parts import site_of

_STOPPED_BY: Final = {"max_pages": "max-pages", "max_time": "max-time", "finished": ""}


class Survey:
    """Looks at the catalog of a crawl of one site."""

    def __init__(self, start: str, settings: Settings) -> None:
        self._start = start
        self._max_depth = settings.crawl.max_depth
        self._follow_nofollow = settings.handlers.follow_nofollow

    def let_in(self, catalog: Catalog) -> int:
        """Let in what was kept out and belongs to the map; return how many URLs that are."""
        assert isinstance(catalog, SqliteCatalog)
        self._settle(catalog)
        if not self._may_miss(catalog):
            return 0
        missing = self._walk(catalog, Names(catalog)).missing
        return catalog.readmit(missing, time.time()) if missing else 0

    def moved_to(self, catalog: SqliteCatalog) -> str | None:
        """Return where the start page leads if that is another site, which was not crawled yet."""
        self._settle(catalog)
        row = catalog.find(self._start)
        if row is None or row.fetch is None or row.outcome is not Outcome.REDIR_SCOPE:
            return None
        target = row.fetch.redirect_to
        return None if target in seeds_of(catalog) else target

    def map_of(self, catalog: SqliteCatalog, summary: Summary, *, all_links: bool) -> SiteMap:
        """Return the map of all that was reached, without its time."""
        names = Names(catalog)
        builder = Builder(names)
        found = self._walk(catalog, names, builder.note)
        stopped_by = _STOPPED_BY.get(summary.reason, summary.reason)
        if not stopped_by and found.too_deep:
            stopped_by = "max-depth"
        return SiteMap(
            start_url=self._start,
            site=site_of(self._start),
            pages=builder.pages(found, all_links=all_links),
            seconds=0.0,
            complete=not (stopped_by or found.unfetched or found.missing),
            stopped_by=stopped_by,
            robots_blocked=[names.urls[doc_id] for doc_id in found.blocked],
            notes=list(_trap_notes(catalog, names, found)),
        )

    def _settle(self, catalog: SqliteCatalog) -> None:
        """Take the first start URL of a workspace unless one was given."""
        self._start = self._start or next(iter(seeds_of(catalog)), "")

    def _may_miss(self, catalog: SqliteCatalog) -> bool:
        """Whether anything was kept out that the map might need: a look that costs little."""
        return (
            self._max_depth >= 0 and Outcome.POLICY_BUDGET in catalog.outcome_counts()
        ) or catalog.kept_out_as(Outcome.POLICY_TRAP, OF_A_COPY) > 0

    def _walk(self, catalog: SqliteCatalog, names: Names, on_page: OnPage | None = None) -> Closure:
        start = names.number_of(self._start)
        if start is None:
            raise InputError(
                f"cannot map {self._start or 'the site'}: the workspace does not know it; "
                "give the URL that it was made with"
            )
        return closure(
            catalog,
            names,
            start,
            self._max_depth,
            follow_nofollow=self._follow_nofollow,
            on_page=on_page,
        )


def _trap_notes(catalog: SqliteCatalog, names: Names, found: Closure) -> Iterator[str]:
    if found.trapped:
        first = found.trapped[0]
        reason = catalog.surveyed(first).detail or "a trap"
        yield (
            f"{len(found.trapped):,} URLs were not fetched because they look endless, such as "
            f"{names.urls[first]} ({reason})"
        )
