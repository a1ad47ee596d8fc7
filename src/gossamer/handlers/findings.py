"""What one visit adds to what is known: its result, and the URLs it leads to."""

from collections.abc import Iterable, Mapping, Sequence

import xxhash
from msgspec.structs import replace

from gossamer.config.handlers import HandlerSettings
from gossamer.config.url import UrlSettings
from gossamer.handlers.news import NewsDesk
from gossamer.handlers.recent import Recent
from gossamer.messages import Document, Fetch, Findings, Found, Kind, Link, News, Page
from gossamer.outcomes import Outcome, State
from gossamer.url.address import port_refusal
from gossamer.url.canonical import Joiner, Target
from gossamer.url.families import family_of
from gossamer.url.parts import host_of, port_of
from gossamer.url.scope import Scope
from gossamer.url.traps import path_trap

_PAGE = int(Kind.PAGE)
_PENDING = int(State.PENDING)
_EXCLUDED = int(State.EXCLUDED)
_MAX_DETAIL = 500


class Finder:
    """Makes findings, and leaves out URLs that it has reported already."""

    def __init__(
        self,
        scope: Scope,
        joiner: Joiner,
        url_settings: UrlSettings,
        handler_settings: HandlerSettings,
        allowed_ports: Sequence[int] = (),
    ) -> None:
        self._scope = scope
        self._targets = joiner.targets
        self._url_settings = url_settings
        self._allowed_ports = allowed_ports
        self._follow_assets = handler_settings.follow_assets
        self._follow_nofollow = handler_settings.follow_nofollow
        self._follow_links = handler_settings.follow_links
        self._recent = Recent()
        self._news_desk = NewsDesk(joiner)
        self._on_probation = Recent(100_000)

    def findings(
        self,
        document: Document,
        page: Page | None,
        extra_urls: Iterable[str] = (),
        records: tuple[str, ...] = (),
    ) -> Findings:
        """Return the findings of a visit; `page` is None when there is nothing to understand."""
        fetch = document.fetch
        outcome, detail = fetch.outcome, fetch.detail
        found: list[Found] = []
        redirect_to = fetch.redirect_to
        links: dict[bytes, Link] = {}
        news = News.UNKNOWN
        if redirect_to is not None and outcome is Outcome.OK:
            outcome = self._redirect(fetch, redirect_to, found)
        if page is not None:
            if page.refresh is not None and page.refresh != fetch.visit.url and redirect_to is None:
                redirect_to = page.refresh
                self._redirect(fetch, redirect_to, found)
            if page.outcome is not Outcome.OK and outcome is Outcome.OK:
                outcome, detail = page.outcome, page.detail
            if self._follow_links:
                links = self._links(fetch, page, found)
                if fetch.visit.kind == _PAGE:
                    news, found = self._news(fetch, page, links, found)
        for url in extra_urls:
            self._offer(url, fetch.visit.depth + 1, Kind.PAGE, (), found)
        body = fetch.body
        return Findings(
            doc_id=fetch.visit.doc_id,
            trans_id=fetch.visit.trans_id,
            outcome=int(outcome),
            status=fetch.status,
            fetched_at=fetch.fetched_at,
            milliseconds=fetch.milliseconds,
            tries=fetch.visit.tries + 1,
            content_type=page.content_type if page is not None else _content_type(fetch),
            body_bytes=len(body),
            wire_bytes=len(fetch.raw),
            checksum=xxhash.xxh3_128_digest(body) if body and fetch.success else None,
            simhash=page.simhash if page is not None else None,
            etag=fetch.header("etag"),
            last_modified=fetch.header("last-modified"),
            pointer=document.pointer,
            redirect_to=redirect_to,
            title=page.title if page is not None else "",
            detail=detail[:_MAX_DETAIL],
            retry_after_seconds=fetch.retry_after_seconds,
            targets=b"".join(links),
            found=tuple(found),
            payload_digest=document.payload_digest,
            records=records,
            news=int(news),
        )

    def forget(self, findings: Findings) -> None:
        """Take back what was reported in findings that could not be kept."""
        for found in findings.found:
            self._recent.forget(found.md5[:8])
        self._news_desk.forget()

    def _redirect(self, fetch: Fetch, target_url: str, found: list[Found]) -> Outcome:
        """Offer a redirect's target, which meets scope, robots and politeness like any URL."""
        visit = fetch.visit
        target = self._targets[target_url]
        verdict = self._scope.verdict(target_url, target.host, visit.depth)
        self._offer(target_url, visit.depth, Kind(visit.kind), (*visit.via, visit.url), found)
        return Outcome.REDIR_SCOPE if verdict is Outcome.POLICY_SCOPE else fetch.outcome

    def _links(self, fetch: Fetch, page: Page, found: list[Found]) -> dict[bytes, Link]:
        """Offer what a page refers to; return its page links by their keys in the link graph."""
        targets = self._targets
        depth = fetch.visit.depth + 1
        by_key = {targets[link.url].key: link for link in page.links}
        if page.nofollow and not self._follow_nofollow:
            return by_key
        unseen = self._recent.unseen(set(by_key))
        # Most pages have nothing new, so most need not be looked through.
        for key, link in by_key.items() if unseen else ():
            if key in unseen and (self._follow_nofollow or not link.nofollow):
                self._report(targets[link.url], depth, _PAGE, (), found)
        for link in page.sitemap_urls:
            self._offer(link.url, fetch.visit.depth, Kind.SITEMAP, (), found)
        if self._follow_assets:
            for link in page.assets:
                self._offer(link.url, depth, Kind.ASSET, (), found)
        return by_key

    def _news(
        self, fetch: Fetch, page: Page, links: Mapping[bytes, Link], found: list[Found]
    ) -> tuple[News, list[Found]]:
        """Tell whether a page says anything new; where one leads that does not is on probation."""
        url = fetch.visit.url
        family = family_of(host_of(url), url)
        if self._news_desk.has_news(family, fetch, page):
            if not page.nofollow or self._follow_nofollow:
                self._acquit(links, fetch.visit.depth + 1, found)
            return News.SOME, found
        marked = [replace(item, probation=family) if item.kind == _PAGE else item for item in found]
        led_to = [item for item in marked if item.probation and item.state == _PENDING]
        for item in led_to:
            self._on_probation.add(item.md5[:8])
        leads_on = any(family_of(item.host, item.url) != family for item in led_to)
        return News.UNKNOWN if leads_on else News.NONE, marked

    def _acquit(self, links: Mapping[bytes, Link], depth: int, found: list[Found]) -> None:
        """Report links again that were on probation: a page with something to say has them too."""
        for key in self._on_probation.seen(links.keys()):
            link = links[key]
            if self._follow_nofollow or not link.nofollow:
                self._on_probation.forget(key)
                self._report(self._targets[link.url], depth, _PAGE, (), found)

    def _offer(
        self, url: str, depth: int, kind: Kind, via: tuple[str, ...], found: list[Found]
    ) -> None:
        target = self._targets[url]
        if target.key not in self._recent:
            self._report(target, depth, int(kind), via, found)

    def _report(
        self, target: Target, depth: int, kind: int, via: tuple[str, ...], found: list[Found]
    ) -> None:
        """Put a URL that was not reported lately among the findings."""
        url, host = target.url, target.host
        self._recent.add(target.key)
        detail = ""
        verdict = self._scope.verdict(url, host, depth)
        if verdict is None and (trap := path_trap(url, self._url_settings)) is not None:
            verdict, detail = Outcome.POLICY_TRAP, trap
        if verdict is None and port_refusal(port_of(url), self._allowed_ports) is not None:
            verdict = Outcome.POLICY_PORT
        state = _PENDING if verdict is None else _EXCLUDED
        outcome = None if verdict is None else int(verdict)
        found.append(Found(url, target.md5, host, depth, kind, state, outcome, via, "", detail))


def _content_type(fetch: Fetch) -> str:
    claimed = fetch.header("content-type") or ""
    return claimed.partition(";")[0].strip().lower()[:127]
