"""Whether the assets of a site are there: a second, small crawl of their URLs alone.

Each distinct asset is asked for by HEAD, and by GET where HEAD is refused. Other hosts are asked
slowly, robots.txt counts for all, and nothing that is found there is followed but redirects.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from gossamer.catalog.catalog import SiteCatalog, UrlRow
from gossamer.catalog.in_memory import InMemoryCatalog
from gossamer.config.settings import Settings
from gossamer.crawl.pipeline import Summary, crawl_catalog
from gossamer.crawl.seeds import name_only
from gossamer.messages import Found, Kind
from gossamer.outcomes import Outcome, State, name_of
from gossamer.site.build import FINE, error_of
from gossamer.site.model import AssetCheck, Page, SiteMap
from gossamer.site.observation import WEIGHER, Weight
from gossamer.site.ring import TimeLimit
from gossamer.site.settings import TRIES
from gossamer.url.address import port_refusal
from gossamer.url.parts import authority_of, host_of, md5_of, port_of, site_of
from gossamer.wording import count_in_words

_MAX_HOPS: Final = 10
_GET_BYTES: Final = 65_536
_OTHERS_PER_SECOND: Final = 4.0
_OTHERS_AT_ONCE: Final = 2
_OTHERS_IN_ALL: Final = 32
_BAD_ANSWERS: Final = (
    *("net.reset", "net.closed_early", "net.timeout.headers", "net.timeout.total", "net.slow"),
    *("proto.", "body."),
)
"""How the outcomes begin of requests that reached a server and got no answer worth the name."""
_NO_SERVER: Final = ("net.", "dns.", "tls.")
_decode: Final = msgspec.json.Decoder(Weight).decode


def check_assets(site_map: SiteMap, settings: Settings, limit: TimeLimit) -> Summary | None:
    """Note in the map what became of each asset; return how a run that was broken off ended."""
    urls = _assets_of(site_map)
    summary = _check_all(urls, site_map, settings, limit)
    site_map.notes.extend(_notes(urls, site_map))
    return summary


def _notes(urls: Sequence[str], site_map: SiteMap) -> Iterator[str]:
    """Say how many assets nobody asked for: that nothing is found there means nothing."""
    checked = site_map.checked
    left = [url for url in urls if url not in checked or checked[url].outcome.startswith("policy.")]
    if left:
        reason = (
            checked[left[0]].error if left[0] in checked else "there was no time to wait for it"
        )
        counted = f"{len(left):,} of {count_in_words(len(urls), 'asset')}"
        yield f"not looked at: {counted}, such as {left[0]} ({reason})"


def _assets_of(site_map: SiteMap) -> list[str]:
    return list(
        dict.fromkeys(
            url
            for page in site_map.pages
            for members in page.assets.values()
            for url in members
            if url.startswith(("http://", "https://"))
        )
    )


def _check_all(
    urls: Sequence[str], site_map: SiteMap, settings: Settings, limit: TimeLimit
) -> Summary | None:
    pages = {page.url: page for page in site_map.pages}
    site_map.checked.update((url, _of_page(pages[url])) for url in urls if url in pages)
    sites = {site_of(page.url) for page in site_map.pages}
    own = [url for url in urls if url not in pages and site_of(url) in sites]
    others = [url for url in urls if url not in pages and site_of(url) not in sites]
    if limit.stops.requested is not None:
        return None
    for group, paced in ((own, _plain(settings)), (others, _slow(_plain(settings)))):
        for kind in (Kind.CHECK, Kind.ASSET):
            wanted = [url for url in group if kind is Kind.CHECK or _is_refused(site_map, url)]
            if wanted:
                checks, summary = _ask(wanted, kind, paced, site_map.start_url, limit)
                site_map.checked.update(checks)
                if _is_broken_off(summary, limit):
                    return summary
    return None


def _is_broken_off(summary: Summary, limit: TimeLimit) -> bool:
    """Whether it ended before its time; that one host lets us wait is no reason to leave others."""
    ended_early = summary.exit_code != 0 and summary.reason != "stalled"
    return ended_early or limit.stops.requested is not None


def _is_refused(site_map: SiteMap, url: str) -> bool:
    """Whether a HEAD did not tell: many servers answer it with an error, or know only GET."""
    check = site_map.checked.get(url)
    return check is not None and (check.status >= 400 or check.outcome.startswith(_BAD_ANSWERS))


def _plain(settings: Settings) -> Settings:
    """Return settings under which nothing is followed and little is read."""
    crawl = replace(
        settings.crawl,
        scope="any",
        include=(),
        exclude=(),
        max_pages=0,
        max_depth=0,
        sitemaps=False,
    )
    spider = replace(settings.spider, max_doc_bytes=_GET_BYTES, max_wire_bytes=_GET_BYTES)
    handlers = replace(settings.handlers, use=(WEIGHER,), follow_assets=False)
    urlserver = replace(settings.urlserver, max_tries=max(settings.urlserver.max_tries, TRIES))
    catalog = replace(settings.catalog, follow_duplicates=True)
    return replace(
        settings,
        crawl=crawl,
        urlserver=urlserver,
        spider=spider,
        handlers=handlers,
        catalog=catalog,
    )


def _slow(settings: Settings) -> Settings:
    """Return settings for hosts that have not asked for this visit."""
    urlserver = replace(
        settings.urlserver,
        host_per_second=_OTHERS_PER_SECOND,
        host_concurrent=_OTHERS_AT_ONCE,
        address_concurrent=2 * _OTHERS_AT_ONCE,
    )
    crawl = replace(settings.crawl, concurrency=_OTHERS_IN_ALL)
    return replace(settings, urlserver=urlserver, crawl=crawl)


def _ask(
    urls: Sequence[str], kind: Kind, settings: Settings, start_url: str, limit: TimeLimit
) -> tuple[dict[str, AssetCheck], Summary]:
    with InMemoryCatalog(settings.catalog) as catalog:
        # Only the host of the start page was named by the user: others must be public.
        name_only(catalog, [start_url])
        catalog.discover(_found(urls, kind, settings), time.time())
        summary = crawl_catalog(catalog, (), settings, on_progress=limit.note, stops=limit.stops)
        checks = {}
        for url in urls:
            check = _result(catalog, url)
            if check is not None:
                checks[url] = check
        return checks, summary


def _found(urls: Sequence[str], kind: Kind, settings: Settings) -> Iterator[Found]:
    for url in urls:
        found = Found(url, md5_of(url), host_of(url), depth=0, kind=int(kind))
        if port_refusal(port_of(url), settings.spider.allowed_ports) is not None:
            found = replace(found, state=int(State.EXCLUDED), outcome=int(Outcome.POLICY_PORT))
        yield found


def _result(catalog: SiteCatalog, url: str) -> AssetCheck | None:
    """Return what became of an asset, at the end of its redirects; None: it was not tried."""
    row = catalog.find(url)
    for _ in range(_MAX_HOPS):
        target = row.fetch.redirect_to if row is not None and row.fetch is not None else None
        further = catalog.find(target) if target is not None else None
        if further is None:
            break
        row = further
    if row is None:
        return None
    if row.outcome is None or row.state in (State.PENDING, State.LEASED):
        return _unreachable(catalog, url, row.url)
    return _check(catalog, url, row)


def _unreachable(catalog: SiteCatalog, url: str, end: str) -> AssetCheck | None:
    """Return why nobody could ask: the robots.txt that comes first found no server there."""
    robots = catalog.robots(authority_of(end))
    if robots is None or not name_of(robots.outcome).startswith(_NO_SERVER):
        return None
    error = error_of(robots.outcome, robots.status, robots.detail)
    return AssetCheck(url, robots.status, error, outcome=name_of(robots.outcome))


def _check(catalog: SiteCatalog, url: str, row: UrlRow) -> AssetCheck:
    fetch = row.fetch
    status = fetch.status if fetch is not None else 0
    outcome = row.outcome or Outcome.INTERNAL
    record = catalog.surveyed(row.doc_id).record
    return AssetCheck(
        url=url,
        status=status,
        error=None if outcome in FINE else error_of(outcome, status, row.detail),
        bytes=_decode(record).bytes if record else 0,
        content_type=fetch.content_type if fetch is not None else "",
        outcome=name_of(outcome),
    )


def _of_page(page: Page) -> AssetCheck:
    return AssetCheck(
        page.url, page.status, page.error, page.bytes, page.content_type, page.facts.outcome
    )
