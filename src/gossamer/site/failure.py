"""When there is nothing to map: one message that says what happened and what to do."""

from typing import Final

from gossamer.catalog.catalog import RobotsRecord
from gossamer.crawl.pipeline import Summary
from gossamer.errors import StoppedError
from gossamer.outcomes import Outcome, name_of
from gossamer.site.build import error_of
from gossamer.site.model import Page, SiteMap, leads_away

_ADVICE: Final = (
    ("dns.", "check how the name is written, and the network (gossamer doctor)"),
    ("net.", "check that a server runs there, at this port"),
    ("tls.not_tls", "the server speaks no TLS at this port: write http://, or name another port"),
    ("tls.", "check its certificate; --set spider.verify_tls=false sets it aside"),
    ("http.429", "the server asks for patience: try again later, with --delay"),
    ("http.5xx", "the server is in trouble: try again later"),
    ("http.", "start from a page that exists; --auth, --cookie or --header if it needs a log-in"),
    ("redir.loop", "it may want a cookie: give one with --cookie"),
    ("policy.private_address", "if it is your own network, add --set url.allow_private=true"),
    ("policy.", "start from another page of the site"),
)

_UNREAD: Final = name_of(Outcome.POLICY_ROBOTS_UNREACHABLE)
_BROKEN_OFF: Final = frozenset({"interrupted", "terminated", "disk_full"})
"""Ends of a crawl that say more than whatever had failed by then."""


def require_pages(site_map: SiteMap, summary: Summary, robots: RobotsRecord | None) -> None:
    """Complain unless there is at least one page in the map that did not fail."""
    pages = site_map.pages
    if any(page.error is None and not leads_away(page) for page in pages):
        return
    start = site_map.start_url
    if summary.reason in _BROKEN_OFF:
        reason = summary.message.partition(";")[0]
        raise StoppedError(
            f"cannot map {start}: {reason} before a page was there", summary.exit_code
        )
    if site_map.robots_blocked:
        raise StoppedError(f"cannot map {start}: {_forbidden(site_map.robots_blocked[0])}")
    if robots is not None and robots.failures and all(map(_waits_for_robots, pages)):
        trouble = error_of(robots.outcome, robots.status, robots.detail)
        raise StoppedError(
            f"cannot map {start}: {trouble}; {_advice(name_of(robots.outcome), robots.detail)}"
        )
    if not pages:
        raise StoppedError(f"cannot map {start}: {summary.message.partition(';')[0]}")
    last = pages[-1]
    if last.error is None:
        raise StoppedError(
            f"cannot map {start}: it leads to {last.facts.redirect_to}, which is another site; "
            "start from there"
        )
    via = "" if last.url == start else f" (at {last.url})"
    raise StoppedError(
        f"cannot map {start}: {last.error}{via}; {_advice(last.facts.outcome, last.facts.detail)}"
    )


def start_trouble(site_map: SiteMap) -> str:
    """Say what is wrong with the start page of a map that shows others; empty: nothing."""
    by_url = {page.url: page for page in site_map.pages}
    url = _end_of_redirects(site_map.start_url, by_url)
    page = by_url.get(url)
    if page is not None and page.error is not None:
        return f"{url} failed: {page.error}; {_advice(page.facts.outcome, page.facts.detail)}"
    return _forbidden(url) if url in site_map.robots_blocked else ""


def _waits_for_robots(page: Page) -> bool:
    return page.facts.outcome == _UNREAD


def _end_of_redirects(url: str, by_url: dict[str, Page]) -> str:
    passed = {url}
    while url in by_url:
        target = by_url[url].facts.redirect_to
        if target is None or target in passed:
            break
        passed.add(url := target)
    return url


def _forbidden(url: str) -> str:
    return f"robots.txt forbids {url}; if the site is your own, add --ignore-robots"


def _advice(outcome: str, detail: str) -> str:
    # So says libcurl of all that goes wrong before the proxy answers.
    if " proxy" in detail:
        return "check that --proxy names a proxy that runs"
    for prefix, advice in _ADVICE:
        if outcome.startswith(prefix):
            return advice
    return "try again, or start from another page of the site"
