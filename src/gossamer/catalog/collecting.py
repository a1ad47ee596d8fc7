"""URLs found on pages become members of sites, as each site wants it (S3.67-S3.69).

Theory of operation. The type of a page says whose URLs they are (4b.1). REGULAR and REAL_TIME:
those of its own site. REGULAR_EXT: a URL on a host of known sites goes to these, any other to the
page's own site. NEW_SITE: as before, but a site is made for a host that none has, if the filters of
the page's own site let the URL pass. SINGLE, FETCHED (an entry of a feed, which is its own content)
and CHAIN (a part of another page) are not collected from.

Each site judges by its own filters and limits. To the page's own site, what is set on the page
counts for the URLs found on it (C34); another site has its own values.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import astuple, replace

from gossamer.catalog.batch_facts import Item, Memo, PageFacts, SiteFacts
from gossamer.catalog.collecting_again import renewed, renews
from gossamer.catalog.collecting_room import COLLECTING, FULL_BIT, note_fault, room_for
from gossamer.catalog.collecting_rules import (
    CollectingRules,
    Patience,
    Sieve,
    macros_of,
    rules_of,
)
from gossamer.catalog.collecting_sites import make_site_of, sites_of_host
from gossamer.catalog.discover import discover, known_urls
from gossamer.catalog.leases import json_list
from gossamer.catalog.service_members import (
    Change,
    Newcomer,
    find_site,
    insert_members,
    newcomer,
    with_parent,
)
from gossamer.catalog.service_rows import KnownSite
from gossamer.catalog.site_book import SiteBook
from gossamer.messages import Due, Found, Kind
from gossamer.objects.enumerations import CrawlStatus, FilterMode, FilterStage, URLType
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.filters import judge
from gossamer.objects.moments import NOW
from gossamer.objects.patterns import PatternError
from gossamer.objects.picking import ADD, XPATH_LIST
from gossamer.objects.url import URL
from gossamer.outcomes import State
from gossamer.reports import PageReport
from gossamer.url.parts import authority_of, host_of, md5_of
from gossamer.url.plain import KEY_BYTES

_CUT_BIT: Final = 1 << ErrorBit.MAX_URLS_FROM_PAGE
# The document has no bit for it; the origin's, for a filter that stops the crawler, means here
# that a content was not stored, which is true as well.
_REDIRECT_BITS: Final = 1 << ErrorBit.BAD_REDIRECTION | 1 << ErrorBit.RAW_NOT_STORED
_PATTERN_BIT: Final = 1 << ErrorBit.REGULAR_EXPRESSION
_FOR_OTHERS: Final = frozenset({URLType.REGULAR_EXT, URLType.NEW_SITE})
_COLLECTED: Final = frozenset({URLType.REGULAR, URLType.REAL_TIME_CRAWLER}) | _FOR_OTHERS
_MOST_NEW_SITES: Final = 100
"""Sites that one page may bring about."""
_PATIENCE_SECONDS: Final = 2.0
_HANDED_DOWN: Final = slice(2, 9)
"""What of a page the columns of a new member are made of, beside its name."""
# What a URL has when nobody says anything else.
_USUAL_TYPE: Final = int(URLType.REGULAR)
_USUAL_DELAY: Final = 500.0
_USUAL_TIMEOUT: Final = 30_000.0

Links = Mapping[str, FilterMode]
"""URLs in the order of their page."""


class Collector:
    """Collects URLs inside of one transaction."""

    def __init__(
        self,
        change: Change,
        memo: Memo,
        book: SiteBook,
        spent: Callable[[], float] = time.thread_time,
    ) -> None:
        self._change = change
        self._connection = change.connection
        self._memo = memo
        self._book = book
        self._spent = spent
        self._sites: dict[str, KnownSite | None] = {}
        self._values: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        """First values of members, by what they are made of."""
        self._properties: Mapping[str, str] = {}
        self._last_rules = rules_of(self._properties)
        """Those of the properties that were asked for last."""
        self.collected: list[tuple[int, int, bool]] = []
        """Of the last page: what became new by it, as set, document, and if it was unknown."""

    def collect(self, item: Item, site: SiteFacts, page: PageFacts, report: PageReport) -> int:
        """Tell sites of the URLs found on a page, if they want them; return how many did."""
        self.collected = []
        if page.type not in _COLLECTED:
            return 0
        is_shared = page.type in _FOR_OTHERS
        links = self._links(report, site) if is_shared else self._news(report, item, site)
        if not links:
            return 0
        patience = Patience(_PATIENCE_SECONDS, self._spent)
        by_site: Mapping[int, Links] = {item.set_id: links}
        if is_shared:
            by_site = self._shared_out(page, item, site, links, patience)
        faults = 0
        for set_id, part in by_site.items():
            faults |= self._tell(set_id, page, item, part, patience)
        if patience.faults:
            faults |= _PATTERN_BIT
        if faults:
            known = self._known(site)
            if known is not None:
                note_fault(self._change, known, item.doc_id, faults)
        return len(self.collected)

    # ------------------------------------------------------------------ before there are URLs

    def with_picks(self, due: Due, items: Iterable[Item]) -> Due:
        """Return an order that says where on the page sites want URLs to be collected from."""
        picks: dict[str, str] = {}
        for item in items:
            with self._book.attending(item.set_id, item.wishes):
                site = self._book.site(item.set_id)
                text = "" if site is None else self._paths_of(site)
            if site is not None and text:
                picks[site.id] = text
        if not picks or due.manner is None:
            return due
        return replace(due, manner=replace(due.manner, picks=tuple(picks.items())))

    def _paths_of(self, site: SiteFacts) -> str:
        properties = self._book.properties_of(site.site_id)
        if not properties.get(XPATH_LIST) or rules_of(properties).paths is None:
            return ""
        return properties[XPATH_LIST]

    def stopped_redirect(self, item: Item, site: SiteFacts, target: str) -> int:
        """Return the bits for a redirect that filters do not let pass (stage 8); 0 if all do."""
        filters = self._book.filters_of(site.site_id)
        member = self._book.member(item)
        macros = macros_of(
            self._book.properties_of(site.site_id),
            site_id=site.id,
            depth=0 if member is None else member.depth,
        )
        verdict = judge(target, filters, FilterStage.REDIRECT_URL, macros=macros)
        if verdict.passes:
            return 0
        return _REDIRECT_BITS | (_PATTERN_BIT if verdict.fault else 0)

    # ----------------------------------------------------------------------- whose URLs

    def _shared_out(
        self, page: PageFacts, item: Item, site: SiteFacts, links: Links, patience: Patience
    ) -> dict[int, dict[str, FilterMode]]:
        """Return the URLs of a page by the sites that they belong to."""
        sieve = self._sieve(site, page, self._rules(site), patience)
        shares: dict[int, dict[str, FilterMode]] = {}
        by_host: dict[str, list[int]] = {}
        made = 0
        for url, mode in links.items():
            host = authority_of(url)
            if host not in by_host:
                sets = sites_of_host(self._connection, host)
                if not sets and page.type == URLType.NEW_SITE:
                    if made >= _MOST_NEW_SITES or sieve.passed(url, mode) is None:
                        continue
                    sets = make_site_of(self._change, url)
                    if not sets:
                        continue
                    made += 1
                by_host[host] = sets or [item.set_id]
            for set_id in by_host[host]:
                shares.setdefault(set_id, {})[url] = mode
        return shares

    # --------------------------------------------------------------------- what one site wants

    def _tell(
        self, set_id: int, page: PageFacts, item: Item, links: Links, patience: Patience
    ) -> int:
        """Tell a site of URLs; return the bits of what went wrong."""
        site = self._book.site(set_id)
        known_site = None if site is None else self._known(site)
        if site is None or known_site is None or not links:
            return 0
        rules = self._rules(site)
        is_remembered = self._is_remembered(site, item)
        if is_remembered:
            links = self._untold(set_id, links)
        if not links:
            return 0
        sieve = self._sieve(site, page, rules, patience)
        names = {url: sieve.passed(url, mode) for url, mode in links.items()}
        wanted = list(dict.fromkeys(name for name in names.values() if name is not None))
        try:
            wanted = rules.within_limits(wanted, page.url, page.content_type)
        except PatternError:
            patience.faults += 1
            wanted = []
        told, faults = self._enter(site, known_site, page, item, wanted, rules)
        if is_remembered:
            refused_for_good = not sieve.depends_on_page and not patience.faults
            self._memo.learn(
                set_id,
                (
                    _key(url)
                    for url, name in names.items()
                    if (refused_for_good if name is None else name in told)
                ),
            )
        return faults

    def _enter(
        self,
        site: SiteFacts,
        known_site: KnownSite,
        page: PageFacts,
        item: Item,
        wanted: Sequence[str],
        rules: CollectingRules,
    ) -> tuple[set[str], int]:
        """Make URLs members of a site within its limits; return those that are, and faults."""
        if not wanted:
            return set(), 0
        md5s = {url: md5_of(url) for url in wanted}
        documents, made = self._documents(md5s, item.doc_id)
        known = self._members(
            site.set_id, [each for each in documents.values() if each not in made]
        )
        again = renewed(self._change, known_site, sorted(known), rules.renewal, site.recrawl_period)
        if rules.renewal.status == CrawlStatus.NEW:
            self.collected += [(site.set_id, doc_id, False) for doc_id in again]
        fresh = [url for url, doc_id in documents.items() if doc_id not in known]
        taken, faults = self._within_room(site, known_site, page, fresh, rules, known)
        if taken:
            values = self._first_values(site, known_site, page, rules, item)
            members = [
                (Newcomer(known_site, url, md5s[url], values), documents[url]) for url in taken
            ]
            insert_members(self._change, members)
            self.collected += [(site.set_id, documents[url], True) for url in taken]
        return {url for url, doc_id in documents.items() if doc_id in known} | set(taken), faults

    def _within_room(
        self,
        site: SiteFacts,
        known_site: KnownSite,
        page: PageFacts,
        fresh: Sequence[str],
        rules: CollectingRules,
        known: set[int],
    ) -> tuple[Sequence[str], int]:
        """Return how many of a page's new URLs a site takes, and the bits of what was cut off."""
        faults = 0
        limit = site.max_urls_from_page or page.max_urls_from_page
        if limit and len(fresh) > limit:
            fresh, faults = fresh[:limit], _CUT_BIT
        room = room_for(self._change, known_site, len(fresh), site.max_urls, rules, known)
        if room < len(fresh):
            fresh, faults = fresh[:room], faults | FULL_BIT
        return fresh, faults

    def _members(self, set_id: int, doc_ids: Sequence[int]) -> set[int]:
        """Return which documents a site knows already."""
        if not doc_ids:
            return set()
        values = (set_id, json_list(doc_ids))
        return {row[0] for row in self._connection.execute(COLLECTING["known_members"], values)}

    def _first_values(
        self,
        site: SiteFacts,
        known_site: KnownSite,
        page: PageFacts,
        rules: CollectingRules,
        item: Item,
    ) -> tuple[Any, ...]:
        """Return the columns of a new member; those of most pages differ in the parent only."""
        is_own = site.set_id == item.set_id
        if item.wishes or "parent_md5" in rules.first_fields:
            return self._made_values(site, known_site, page, rules, is_own=is_own)
        key = (site.set_id, is_own, *astuple(page)[_HANDED_DOWN])
        if key not in self._values:
            made = self._made_values(site, known_site, page, rules, is_own=is_own)
            self._values[key] = made
        return with_parent(self._values[key], page.md5)

    def _made_values(
        self,
        site: SiteFacts,
        known_site: KnownSite,
        page: PageFacts,
        rules: CollectingRules,
        *,
        is_own: bool,
    ) -> tuple[Any, ...]:
        """Return the columns of a new member (S3.68, C34)."""
        fields: dict[str, Any] = {
            "type": site.url_type,
            "request_delay": site.request_delay,
            "processing_delay": known_site.processing_delay,
            "http_timeout": site.http_timeout,
        }
        if is_own:
            for name, usual in (
                ("type", _USUAL_TYPE),
                ("request_delay", _USUAL_DELAY),
                ("processing_delay", _USUAL_DELAY),
                ("http_timeout", _USUAL_TIMEOUT),
            ):
                own = getattr(page, name)
                # Nothing says who has set a value; one that is not as usual was set by somebody.
                if own and own != usual:
                    fields[name] = own
        fields |= {
            "depth": page.depth + 1,
            "priority": page.priority,
            "classifier_mask": page.classifier_mask,
            "parent_md5": page.md5,
            "freq": 1,
            "u_date": NOW,
            **rules.first_fields,
        }
        return newcomer(known_site, page.url, URL(url=page.url, **fields), self._change.now).values

    def _sieve(
        self, site: SiteFacts, page: PageFacts, rules: CollectingRules, patience: Patience
    ) -> Sieve:
        properties = self._book.properties_of(site.site_id)
        macros = macros_of(properties, site_id=site.id, depth=page.depth + 1, page_url=page.url)
        return Sieve(rules, self._book.filters_of(site.site_id), macros, patience)

    def _rules(self, site: SiteFacts) -> CollectingRules:
        properties = self._book.properties_of(site.site_id)
        if properties is not self._properties:
            self._properties, self._last_rules = properties, rules_of(properties)
        return self._last_rules

    def _known(self, site: SiteFacts) -> KnownSite | None:
        if site.id not in self._sites:
            self._sites[site.id] = find_site(self._connection, site.id)
        return self._sites[site.id]

    def _is_remembered(self, site: SiteFacts, item: Item) -> bool:
        """Whether a site need not be told twice of what an item leads to."""
        rules = self._rules(site)
        may_renew = renews(rules.renewal, site.recrawl_period)
        # What a site was told of may be gone by now, or be taken another time.
        may_forget = rules.removal is not None or rules.page_limits or rules.url_limits
        return not (may_renew or may_forget or item.wishes)

    def _news(self, report: PageReport, item: Item, site: SiteFacts) -> Links:
        """Return the URLs of a page that its own site has to be told of."""
        if report.picked or not report.is_keyed or not self._is_remembered(site, item):
            return self._links(report, site)
        # Nearly always nothing: the neighbours of a page have the same links.
        numbers = self._memo.untold(item.set_id, report.keys)
        urls, pages = (*report.links, *report.media), len(report.links)
        return {
            urls[number]: FilterMode.URL if number < pages else FilterMode.MEDIA
            for number in numbers
        }

    def _untold(self, set_id: int, links: Links) -> Links:
        urls = list(links)
        numbers = self._memo.untold(set_id, b"".join(map(_key, urls)))
        return {urls[number]: links[urls[number]] for number in numbers}

    def _links(self, report: PageReport, site: SiteFacts) -> dict[str, FilterMode]:
        """Return the URLs of a page, pages before media; media that are linked to are media."""
        links: Iterable[str] = report.links
        media: Iterable[str] = report.media
        picked = dict(report.picked).get(site.id)
        paths = None if picked is None else self._rules(site).paths
        if picked is not None and paths is not None:
            links, media = ((*links, *picked), media) if paths.mode == ADD else (picked, ())
        found = dict.fromkeys(links, FilterMode.URL)
        return found | dict.fromkeys(media, FilterMode.MEDIA)

    # --------------------------------------------------------------------------- documents

    def _documents(self, md5s: Mapping[str, bytes], parent: int) -> tuple[dict[str, int], set[int]]:
        """Return the documents of URLs, and those that have become known by it."""
        rows = known_urls(self._connection, list(md5s.values()))
        known = {md5: row[0] for md5, row in rows.items()}
        unknown = {
            md5: (Found(url, md5, host_of(url), 1, int(Kind.PAGE), int(State.EXCLUDED)), parent)
            for url, md5 in md5s.items()
            if md5 not in known
        }
        found, change = unknown.values(), self._change
        made = discover(change.connection, change.memory, change.tally, found, change.now, known={})
        known.update(zip(unknown, made, strict=True))
        return {url: known[md5] for url, md5 in md5s.items()}, set(made)

    def document(self, url: str, parent: int) -> int:
        """Return the document of a URL, which becomes known if it is not."""
        documents, _ = self._documents({url: md5_of(url)}, parent)
        return documents[url]


def _key(url: str) -> bytes:
    return md5_of(url)[:KEY_BYTES]
