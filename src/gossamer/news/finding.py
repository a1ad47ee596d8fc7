"""Where the feeds of a site are: suspected by what pages and robots.txt name, proved by reading.

Theory of operation. The ring, with a catalog in memory, fetches what the search asks for and
follows nothing but redirects. When nothing is left to do, the search looks at what has come and
asks for more (`before_end`): what a start page names, where most sites have their feeds, and
sitemaps (level 1); what pages and sitemap indexes among these name (level 2). There it ends. Where
a start page declares its feeds, and one of them is a feed, nothing is guessed.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.catalog.catalog import Catalog, UrlRow
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.settings import Settings
from gossamer.crawl.pipeline import crawl_catalog
from gossamer.crawl.progress import Progress
from gossamer.crawl.seeds import canonical_starts, name_only
from gossamer.crawl.stops import INTERRUPTED_CODE, WORK_REMAINS_CODE
from gossamer.errors import StoppedError
from gossamer.messages import Found
from gossamer.news.noticing import HANDLER, Notice
from gossamer.outcomes import PAGE_OUTCOMES, Outcome, State, name_of
from gossamer.parse.discovery import COMMON_PATHS
from gossamer.url.address import port_refusal
from gossamer.url.canonical import Joiner
from gossamer.url.parts import authority_of, directory_of, host_of, md5_of, port_of
from gossamer.urlserver.robots_rules import RuleSet

MAX_URLS: Final = 1_000
"""How many URLs are looked at for one start URL."""
MAX_URL_CHARACTERS: Final = 256
"""Longer URLs are not suspected."""
_MAX_LEVEL: Final = 2
_MAX_HOPS: Final = 10
_MAX_SITEMAPS: Final = 30
_SITEMAPS: Final = ("/sitemap.xml", "/sitemap_index.xml")
_IN_DIRECTORY: Final = ("feed", "rss.xml", "atom.xml", "feed.xml", "index.xml")
_PERMANENT: Final = (301, 308)
# A sitemap of all pages is no feed, unless somebody names it as one.
_PLAIN: Final = ("sitemap", "sitemap_index")
_PATIENCE_SECONDS: Final = 20.0
_RUNS: Final = 4
_decode: Final = msgspec.json.Decoder(Notice).decode


class Candidate(Struct, frozen=True):
    """A feed that was found, and proved to be one."""

    start: str
    """What was asked for."""
    url: str
    title: str
    form: str
    home: str
    how: str
    """itself, link (named on the page), path (where most sites have it), sitemap (robots.txt, or
    an index), index (named on a page of feeds)."""
    items: int


def find_feeds(
    urls: Sequence[str],
    settings: Settings,
    *,
    thorough: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_trouble: Callable[[str, str], None] | None = None,
) -> list[Candidate]:
    """Return the feeds of these sites, in their order; of each those that it names itself first.

    `thorough`: the usual paths are tried on sites, too, whose pages declare their feeds.
    `on_trouble` hears of each URL that could not be fetched itself, and why.
    """
    starts = canonical_starts(urls, settings)
    settings = _for_search(settings)
    with SqliteCatalog.open(":memory:", settings.catalog) as catalog:
        # Only these hosts were named by the user: all others must be public.
        name_only(catalog, starts)
        search = _Search(settings, urls, starts, thorough=thorough)
        search.step(catalog)
        for _ in range(_RUNS):
            summary = crawl_catalog(
                catalog, (), settings, on_progress=on_progress, before_end=search.step
            )
            if summary.exit_code == INTERRUPTED_CODE:
                raise KeyboardInterrupt
            if summary.exit_code not in (0, WORK_REMAINS_CODE):
                raise StoppedError(f"the search for feeds ended early: {summary.message}")
            # A host that is waited for in vain must not keep us from what others have told.
            waiting = [row.doc_id for row in catalog.pending()]
            catalog.keep_out(waiting, Outcome.POLICY_BUDGET, time.time(), "waited for in vain")
            if not search.step(catalog):
                break
        if on_trouble is not None:
            for url, why in search.troubles():
                on_trouble(url, why)
        return search.candidates()


def _for_search(settings: Settings) -> Settings:
    """Return settings under which nothing is followed, and nobody is waited for very long."""
    crawl = settings.crawl
    urlserver = settings.urlserver
    return replace(
        settings,
        crawl=replace(
            crawl,
            scope="any",
            include=(),
            exclude=(),
            max_pages=0,
            max_depth=-1,
            sitemaps=False,
            workers=1 if crawl.workers < 0 else crawl.workers,
            patience_seconds=min(crawl.patience_seconds, _PATIENCE_SECONDS),
        ),
        urlserver=replace(
            urlserver,
            max_tries=min(urlserver.max_tries or 2, 2),
            retry_soon_seconds=min(urlserver.retry_soon_seconds, 1.0),
            retry_back_off_seconds=min(urlserver.retry_back_off_seconds, 0.5),
            robots_retry_seconds=max(urlserver.robots_retry_seconds, 2.0 * _PATIENCE_SECONDS),
        ),
        parse=replace(settings.parse, near_duplicates=False),
        handlers=replace(
            settings.handlers, use=(HANDLER,), follow_links=False, follow_assets=False
        ),
    )


class _Lead(Struct):
    """A URL that may be a feed, and how we came to think so."""

    start: int
    url: str
    how: str
    level: int
    declared: bool = False
    """Whether the start page says that it is its feed."""
    hops: int = 0
    kept_url: str = ""
    """The URL to remember: the last before a redirect that is not for good; empty: this one."""
    settled: bool = False


class _Proof(Struct):
    """A lead that is a feed."""

    lead: _Lead
    notice: Notice

    @property
    def url(self) -> str:
        return self.lead.kept_url or self.lead.url


class _Trail(Struct):
    """What is known of one start URL."""

    leads: dict[str, _Lead] = field(default_factory=dict)
    proofs: list[_Proof] = field(default_factory=list)
    guesses: list[_Lead] = field(default_factory=list)
    """Taken up only if nothing that the start page declares is a feed."""
    trouble: str = ""
    """Why the start page could not be fetched."""

    def take_guesses(self) -> "list[_Lead]":
        """Return and forget the guesses that are due, none while declared feeds may be proved."""
        if any(proof.lead.declared for proof in self.proofs):
            self.guesses = []
        if any(lead.declared and not lead.settled for lead in self.leads.values()):
            return []
        taken, self.guesses = self.guesses, []
        return taken


class _Search:
    """Turns what has been fetched into more to fetch, and into proofs."""

    def __init__(
        self, settings: Settings, urls: Sequence[str], starts: Sequence[str], *, thorough: bool
    ) -> None:
        self._settings = settings
        self._thorough = thorough
        self._names = urls
        self._trails = [_Trail() for _ in starts]
        for number, url in enumerate(starts):
            self._suspect(_Lead(number, url, "itself", 0))

    def step(self, catalog: Catalog) -> int:
        """Look at what has come, ask for more; return how many URLs are to be fetched."""
        assert isinstance(catalog, SqliteCatalog)
        wanted: dict[str, None] = {}
        for trail in self._trails:
            unsettled = [lead for lead in trail.leads.values() if not lead.settled]
            self._look(catalog, unsettled, wanted)
            guesses = [lead for lead in trail.take_guesses() if self._suspect(lead)]
            self._look(catalog, guesses, wanted)
        catalog.add([_found(url) for url in wanted], time.time())
        return len(wanted)

    def _look(self, catalog: SqliteCatalog, queue: list[_Lead], wanted: dict[str, None]) -> None:
        """Settle the leads that were fetched; note those that are to be."""
        # It grows meanwhile: by what its leads lead to.
        for lead in queue:
            row = catalog.find(lead.url)
            if row is None:
                wanted[lead.url] = None
            elif row.state not in (State.PENDING, State.LEASED):
                lead.settled = True
                queue += [new for new in self._follow(catalog, lead, row) if self._suspect(new)]

    def candidates(self) -> list[Candidate]:
        """Return what was proved: each feed once."""
        return [
            Candidate(
                start=self._names[proof.lead.start],
                url=proof.url,
                title=proof.notice.title,
                form=proof.notice.form,
                home=proof.notice.home,
                how=proof.lead.how,
                items=proof.notice.items,
            )
            for trail in self._trails
            for proof in _each_once(_in_order(trail))
        ]

    def troubles(self) -> list[tuple[str, str]]:
        """Return the URLs that could not be fetched, and why."""
        named = zip(self._names, self._trails, strict=True)
        return [(url, trail.trouble) for url, trail in named if trail.trouble]

    def _suspect(self, lead: _Lead) -> bool:
        """Take up a lead, unless it is known, too long, or one too many."""
        trail = self._trails[lead.start]
        if lead.url in trail.leads or len(trail.leads) >= MAX_URLS:
            return False
        if lead.level and len(lead.url) > MAX_URL_CHARACTERS:
            return False
        if port_refusal(port_of(lead.url), self._settings.spider.allowed_ports) is not None:
            return False
        trail.leads[lead.url] = lead
        return True

    def _follow(self, catalog: SqliteCatalog, lead: _Lead, row: UrlRow) -> Iterator[_Lead]:
        """Yield where a lead that was fetched leads to; note it if it is a feed."""
        if lead.level == 0:
            self._trails[lead.start].trouble = _trouble(catalog, row)
        target = row.fetch.redirect_to if row.fetch is not None else None
        if target is not None and row.fetch is not None:
            if lead.hops < _MAX_HOPS:
                yield _redirected(lead, target, row.fetch.status)
            return
        record = catalog.surveyed(row.doc_id).record
        notice = _decode(record) if record else Notice()
        if notice.form and (notice.form not in _PLAIN or _is_named(lead, notice)):
            self._trails[lead.start].proofs.append(_Proof(lead, notice))
            return
        if lead.level == 0 and _has_answered(row):
            yield from self._around(catalog, lead, notice)
        elif lead.level < _MAX_LEVEL:
            yield from _further(lead, notice.feeds, "index")
        if lead.level < _MAX_LEVEL:
            yield from _further(lead, _likely(notice.children), "sitemap")

    def _around(self, catalog: SqliteCatalog, lead: _Lead, notice: Notice) -> Iterator[_Lead]:
        """Yield all that is suspected around a start page, but no guesses if it may do without."""
        for place, url in enumerate(notice.feeds):
            yield _Lead(lead.start, url, "link", lead.level + 1, place < notice.declared)
        authority = authority_of(lead.url)
        named = self._named_sitemaps(catalog, authority)
        paths = list(_further(lead, _usual_paths(lead.url), "path"))
        sitemaps = list(_further(lead, (authority + path for path in _SITEMAPS), "sitemap"))
        if notice.declared and not self._thorough:
            self._trails[lead.start].guesses += paths + sitemaps
            paths, sitemaps = [], []
        yield from paths
        yield from _further(lead, named, "sitemap")
        yield from sitemaps

    def _named_sitemaps(self, catalog: SqliteCatalog, authority: str) -> list[str]:
        """Return the sitemaps that robots.txt names."""
        robots = catalog.robots(authority)
        if robots is None or robots.outcome != Outcome.OK or robots.status != 200:
            return []
        rules = RuleSet(robots.body, self._settings.spider.robots_agent)
        named = Joiner().join_all(f"{authority}/", rules.sitemaps)
        return _likely([url for url in named if url is not None])


def _usual_paths(url: str) -> list[str]:
    """Return where most sites have their feeds, and pages theirs."""
    authority, directory = authority_of(url), directory_of(url)
    paths = [authority + path for path in COMMON_PATHS]
    if directory != f"{authority}/":
        paths += [directory + name for name in _IN_DIRECTORY]
    return paths


def _redirected(lead: _Lead, target: str, status: int) -> _Lead:
    for_good = status in _PERMANENT
    return _Lead(
        lead.start,
        target,
        lead.how,
        lead.level,
        lead.declared,
        lead.hops + 1,
        lead.kept_url or ("" if for_good else lead.url),
    )


def _further(lead: _Lead, urls: Sequence[str] | Iterator[str], how: str) -> Iterator[_Lead]:
    return (_Lead(lead.start, url, how, lead.level + 1) for url in urls)


def _likely(sitemaps: Sequence[str]) -> list[str]:
    """Return the sitemaps that are looked at: those that may be of news first."""
    return sorted(sitemaps, key=lambda url: "news" not in url.lower())[:_MAX_SITEMAPS]


def _is_named(lead: _Lead, notice: Notice) -> bool:
    """Whether a person has named a plain sitemap as the feed."""
    return lead.level == 0 and notice.form == "sitemap"


def _has_answered(row: UrlRow) -> bool:
    """Whether there is a server; one that forbids this page may allow others."""
    return row.outcome is Outcome.POLICY_ROBOTS or (row.fetch is not None and row.fetch.status > 0)


def _trouble(catalog: SqliteCatalog, row: UrlRow) -> str:
    """Say why nothing was fetched; nothing if something was."""
    if row.outcome is None or row.outcome in PAGE_OUTCOMES:
        return ""
    robots = catalog.robots(authority_of(row.url))
    if row.outcome is Outcome.POLICY_BUDGET and robots is not None and robots.detail:
        # It was not its own turn that did not come.
        return f"{name_of(Outcome(robots.outcome))}: {robots.detail}"
    return ": ".join(word for word in (name_of(row.outcome), row.detail) if word)


def _in_order(trail: _Trail) -> list[_Proof]:
    places = {url: place for place, url in enumerate(trail.leads)}
    return sorted(trail.proofs, key=lambda proof: places[proof.lead.url])


def _each_once(proofs: Sequence[_Proof]) -> Iterator[_Proof]:
    """Yield one of those with the same stories: the one they all call themselves, or the first."""
    groups: dict[str, list[_Proof]] = {}
    for proof in proofs:
        groups.setdefault(proof.notice.checksum or proof.lead.url, []).append(proof)
    for group in groups.values():
        named = [proof for proof in group if proof.notice.own_url == proof.url]
        best = (named or group)[0]
        # How it was found is told by the first: a page names it, and a path only repeats it.
        yield _Proof(replace(best.lead, how=group[0].lead.how), best.notice)


def _found(url: str) -> Found:
    return Found(url, md5_of(url), host_of(url), depth=0)
