"""What one visit adds to what is known: its result, and the URLs it leads to."""

from collections.abc import Iterable, Sequence

import xxhash

from gossamer.config.handlers import HandlerSettings
from gossamer.config.url import UrlSettings
from gossamer.handlers.recent import Recent
from gossamer.messages import Document, Fetch, Findings, Found, Kind, Page
from gossamer.outcomes import Outcome, State
from gossamer.url.address import port_refusal
from gossamer.url.canonical import Joiner, Target
from gossamer.url.parts import port_of
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
        self._recent = Recent()

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
        targets = b""
        if redirect_to is not None and outcome is Outcome.OK:
            outcome = self._redirect(fetch, redirect_to, found)
        if page is not None:
            if page.refresh is not None and page.refresh != fetch.visit.url and redirect_to is None:
                redirect_to = page.refresh
                self._redirect(fetch, redirect_to, found)
            if page.outcome is not Outcome.OK and outcome is Outcome.OK:
                outcome, detail = page.outcome, page.detail
            targets = self._links(fetch, page, found)
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
            targets=targets,
            found=tuple(found),
            payload_digest=document.payload_digest,
            records=records,
        )

    def forget(self, findings: Findings) -> None:
        """Take back what was reported in findings that could not be kept."""
        for found in findings.found:
            self._recent.forget(found.md5[:8])

    def _redirect(self, fetch: Fetch, target_url: str, found: list[Found]) -> Outcome:
        """Offer a redirect's target, which meets scope, robots and politeness like any URL."""
        visit = fetch.visit
        target = self._targets[target_url]
        verdict = self._scope.verdict(target_url, target.host, visit.depth)
        self._offer(target_url, visit.depth, Kind(visit.kind), (*visit.via, visit.url), found)
        return Outcome.REDIR_SCOPE if verdict is Outcome.POLICY_SCOPE else fetch.outcome

    def _links(self, fetch: Fetch, page: Page, found: list[Found]) -> bytes:
        """Offer what a page refers to; return the keys of its page links, for the link graph."""
        targets = self._targets
        depth = fetch.visit.depth + 1
        by_key = {targets[link.url].key: link for link in page.links}
        if page.nofollow and not self._follow_nofollow:
            return b"".join(by_key)
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
        return b"".join(by_key)

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
        verdict = self._scope.verdict(url, host, depth)
        if verdict is None and path_trap(url, self._url_settings) is not None:
            verdict = Outcome.POLICY_TRAP
        if verdict is None and port_refusal(port_of(url), self._allowed_ports) is not None:
            verdict = Outcome.POLICY_PORT
        state = _PENDING if verdict is None else _EXCLUDED
        outcome = None if verdict is None else int(verdict)
        found.append(Found(url, target.md5, host, depth, kind, state, outcome, via))


def _content_type(fetch: Fetch) -> str:
    claimed = fetch.header("content-type") or ""
    return claimed.partition(";")[0].strip().lower()[:127]
