"""What the catalog tells of a site: what is missing at the end of a crawl, and then the map.

Theory of operation. When the ring has nothing left to fetch it asks here (`let_in`): what failed
for a passing reason gets its second try, what was kept out and belongs to the map is let in, and
the ring goes on; in the end a sitemap is looked for where sites have theirs, if robots.txt names
none.
Where only so many pages are wanted, the ring follows no link by itself (`settings.in_order`): level
by level it is let in what comes next in the order of the map, until there are enough. So which
pages these are does not depend on which answer came first.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from gossamer.catalog.catalog import Catalog, SiteCatalog
from gossamer.catalog.judging import OF_A_COPY
from gossamer.config.settings import Settings
from gossamer.crawl.memory import nothing_collected
from gossamer.crawl.pipeline import Summary
from gossamer.crawl.seeds import seeds_of
from gossamer.errors import InputError
from gossamer.messages import Found, Kind
from gossamer.outcomes import (
    FOREVER,
    PAGE_OUTCOMES,
    PASSING_STATUSES,
    RULES,
    Outcome,
    State,
    name_of,
)
from gossamer.site.audit.standing import is_html
from gossamer.site.build import FINE, Builder, Look, error_of
from gossamer.site.closure import Closure, Names, OnPages, Reach, closure
from gossamer.site.closure import Page as Visited
from gossamer.site.model import Page, SiteMap
from gossamer.site.notes import Notes
from gossamer.site.settings import TRIES
from gossamer.url.parts import authority_of, host_of, md5_of, site_of
from gossamer.urlserver.robots_rules import RuleSet
from gossamer.wording import bytes_in_words, count_in_words

_STOPPED_BY: Final = {"max_pages": "max-pages", "max_time": "max-time", "finished": ""}
_PAGES: Final = PAGE_OUTCOMES | {Outcome.BODY_TOO_LARGE}
_CUT: Final = name_of(Outcome.BODY_TOO_LARGE)
_PASSING: Final = frozenset(
    outcome for outcome, rule in RULES.items() if rule.final is State.FAILED and rule.tries > 1
)
"""Failures that may be over by now: time-outs, resets, 429, 5xx (B13)."""
_AWAY: Final = frozenset(outcome for outcome in _PASSING if RULES[outcome].parks_host)
"""Those that say nothing of a page: its server could not be reached."""
_MAYBE_PASSING: Final = _PASSING | {Outcome.HTTP_4XX}
"""These, and the one that is so with some statuses."""


class Survey:
    """Looks at the catalog of a crawl of one site; `settings` are those that the user gave."""

    def __init__(self, start: str, settings: Settings, notes: Notes | None = None) -> None:
        self._start = start
        self._notes = notes or Notes()
        self._settings = settings
        self._max_depth = settings.crawl.max_depth
        self._max_pages = settings.crawl.max_pages

    def let_in(self, catalog: Catalog) -> int:
        """Let in what failed or was kept out and belongs to the map; return how many URLs."""
        assert isinstance(catalog, SiteCatalog)
        self._settle(catalog)
        again = self._try_again(catalog)
        if again:
            return again
        if self._may_miss(catalog):
            missing, room = self._missing(catalog)
            if missing:
                return catalog.readmit(missing[:room], time.time())
        return self._look_for_sitemap(catalog)

    def moved_to(self, catalog: SiteCatalog) -> str | None:
        """Return where the start page leads if that is another site, which was not crawled yet."""
        self._settle(catalog)
        row = catalog.find(self._start)
        if row is None or row.fetch is None or row.outcome is not Outcome.REDIR_SCOPE:
            return None
        target = row.fetch.redirect_to
        return None if target in seeds_of(catalog) else target

    def map_of(
        self,
        catalog: SiteCatalog,
        summary: Summary,
        *,
        all_links: bool,
        look: Look | None = None,
    ) -> SiteMap:
        """Return the map of all that was reached, without its time."""
        names = Names(catalog)
        # A catalog in memory holds the keys of all links; those of a workspace are not kept for it.
        builder = Builder(self._notes, look, names if look is None else None)
        with nothing_collected():
            found = self._walk(catalog, names, on_pages=builder.note)
        stopped_by = _STOPPED_BY.get(summary.reason, summary.reason)
        if not stopped_by and self._max_pages and found.missing:
            stopped_by = "max-pages"
        if not stopped_by and found.too_deep:
            stopped_by = "max-depth"
        pages = builder.pages(found, all_links=all_links)
        limit = self._settings.spider.max_doc_bytes
        return SiteMap(
            start_url=self._start,
            site=site_of(self._start),
            pages=pages,
            seconds=0.0,
            complete=not (stopped_by or found.unfetched or found.missing),
            stopped_by=stopped_by,
            filtered=bool(self._settings.crawl.include or self._settings.crawl.exclude),
            robots_blocked=found.blocked,
            notes=[
                *_trap_notes(catalog, found),
                *_cut_notes(pages, limit),
                *_unseen_notes(builder.unseen),
                *self._sitemap_notes(catalog, names),
            ],
        )

    def _settle(self, catalog: SiteCatalog) -> None:
        """Take the first start URL of a workspace unless one was given."""
        self._start = self._start or next(iter(seeds_of(catalog)), "")

    def _try_again(self, catalog: SiteCatalog) -> int:
        """Put back what failed for a passing reason; return how many URLs."""
        ended = catalog.outcome_counts()
        if _MAYBE_PASSING.isdisjoint(ended):
            return 0
        again = catalog.try_again(_PASSING, TRIES, time.time(), statuses=PASSING_STATUSES)
        if _PAGES.isdisjoint(ended) or _AWAY.isdisjoint(ended):
            return again
        # A server that was there and went away fails all its pages, whether they were asked for or
        # not: it is waited for until that would take too long, and what is left is said to be so.
        return again + catalog.try_again(_AWAY, FOREVER, time.time())

    def _may_miss(self, catalog: SiteCatalog) -> bool:
        """Whether anything was kept out that the map might need: a look that costs little."""
        ended = catalog.outcome_counts()
        is_limited = self._max_depth >= 0 or self._max_pages > 0
        if is_limited and Outcome.POLICY_BUDGET in ended:
            return True
        # Looks at all URLs.
        return (
            Outcome.POLICY_TRAP in ended and catalog.kept_out_as(Outcome.POLICY_TRAP, OF_A_COPY) > 0
        )

    def _missing(self, catalog: SiteCatalog) -> tuple[list[int], int | None]:
        """Return what comes next in the order of the map, and how much of it is wanted."""
        pages = 0

        def count(met: Sequence[Visited]) -> None:
            nonlocal pages
            pages += sum(row.outcome in _PAGES and not 300 <= row.status < 400 for _, row, _ in met)

        missing = self._walk(catalog, Names(catalog), links_first=True, on_pages=count).missing
        return missing, max(self._max_pages - pages, 0) if self._max_pages else None

    def _look_for_sitemap(self, catalog: SiteCatalog) -> int:
        """Have the sitemap fetched that no page and no robots.txt names, if there is one.

        Now, and not before: should it redirect to a page, that page was fetched as what it is.
        """
        url = self._sitemap(catalog)
        if not (url and self._settings.crawl.sitemaps) or catalog.find(url) is not None:
            return 0
        if self._names_sitemaps(catalog, url):
            return 0
        found = Found(url, md5_of(url), host_of(url), depth=0, kind=int(Kind.SITEMAP))
        return len(catalog.discover([found], time.time()))

    def _names_sitemaps(self, catalog: SiteCatalog, url: str) -> bool:
        """Whether the robots.txt that counts for a URL says where sitemaps are."""
        robots = catalog.robots(authority_of(url))
        agent = self._settings.spider.robots_agent
        return robots is not None and bool(RuleSet(robots.body, agent).sitemaps)

    def _sitemap_notes(self, catalog: SiteCatalog, names: Names) -> Iterator[str]:
        """Say which sitemaps failed; where sites have theirs there need not be one."""
        home = self._sitemap(catalog)
        optional = home if home and not self._names_sitemaps(catalog, home) else ""
        wanted = [url for url in names.sitemaps if url != optional]
        rows = [(url, catalog.surveyed(names.numbers[url])) for url in wanted]
        failed = [(url, row) for url, row in rows if row.state == State.FAILED]
        if failed:
            url, row = failed[0]
            trouble = error_of(row.outcome, row.status, row.detail)
            yield f"{len(failed):,} sitemaps could not be read, such as {url} ({trouble})"

    def _sitemap(self, catalog: SiteCatalog) -> str:
        """Return where the site would have its sitemap; empty if its start page is not there."""
        row = catalog.find(self._start)
        if row is None or row.fetch is None or row.outcome not in FINE:
            return ""
        home = row.fetch.redirect_to or row.url
        if row.outcome is Outcome.REDIR_SCOPE and home not in seeds_of(catalog):
            return ""
        return f"{authority_of(home)}/sitemap.xml"

    def _walk(
        self,
        catalog: SiteCatalog,
        names: Names,
        *,
        links_first: bool = False,
        on_pages: OnPages | None = None,
    ) -> Closure:
        start = names.target(self._start)
        if start is None:
            raise InputError(
                f"cannot map {self._start or 'the site'}: the workspace does not know it; "
                "give the URL that it was made with"
            )
        reach = Reach(
            max_depth=self._max_depth,
            follow_nofollow=self._settings.handlers.follow_nofollow,
            sitemap=self._sitemap(catalog),
            links_first=links_first,
        )
        return closure(catalog, self._notes, names, start, reach, on_pages)


def _trap_notes(catalog: SiteCatalog, found: Closure) -> Iterator[str]:
    if found.trapped:
        first = found.trapped[0]
        reason = catalog.surveyed(first.doc_id).detail or "a trap"
        yield (
            "not fetched because they look endless: "
            f"{count_in_words(len(found.trapped), 'URL')}, such as {first.url} ({reason})"
        )


def _cut_notes(pages: list[Page], limit: int) -> Iterator[str]:
    cut = [page.url for page in pages if page.facts.outcome == _CUT and is_html(page)]
    if cut:
        yield (
            f"read up to {bytes_in_words(limit)} only: {count_in_words(len(cut), 'page')}, such as "
            f"{cut[0]}; what is linked to beyond that is not in the map"
        )


def _unseen_notes(urls: list[str]) -> Iterator[str]:
    if urls:
        yield (
            f"what they consist of is not known: {count_in_words(len(urls), 'page')}, such as "
            f"{urls[0]}; another command fetched them, and their bytes are not in the archive"
        )
