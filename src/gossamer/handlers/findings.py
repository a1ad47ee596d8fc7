"""What one visit adds to what is known: its result, and the URLs it leads to."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from sys import intern
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_128_digest

from gossamer.config.handlers import HandlerSettings
from gossamer.config.url import UrlSettings
from gossamer.handlers.news import NewsDesk
from gossamer.handlers.recent import Recent
from gossamer.messages import Document, Fetch, Findings, Found, Kind, News, Page, Pointer
from gossamer.outcomes import Outcome, State
from gossamer.parse.outline import Outline
from gossamer.url.address import port_refusal
from gossamer.url.canonical import Joiner
from gossamer.url.families import family_of, family_of_url
from gossamer.url.parts import directory_of, host_of, md5_of, port_of
from gossamer.url.plain import KEY_BYTES, distinct
from gossamer.url.scope import Scope
from gossamer.url.traps import is_tame, path_trap

_OK = Outcome.OK
_OK_NUMBER = int(_OK)
_PAGE = int(Kind.PAGE)
_PENDING = int(State.PENDING)
_EXCLUDED = int(State.EXCLUDED)
_OUT = Outcome.POLICY_SCOPE
_MAX_DETAIL = 500
_MAX_PLACES = 4_096
_LONGEST_PLACE = 256

checksum_of: Final[Callable[[bytes], bytes]] = xxh3_128_digest
"""Return that by which the catalog knows a body."""


class _Place(Struct, frozen=True, gc=False):
    """What is known of all files in a directory."""

    host: str
    is_reached: bool
    """Whether it is in scope, as far as that depends on where it is."""
    is_port_refused: bool
    is_tame: bool
    """Whether none of them can be a trap by its path."""
    is_taken: bool
    """Whether nothing is to be asked of those without a query."""


class Finder:
    """Makes findings, and leaves out URLs that it has reported already."""

    def __init__(
        self,
        scope: Scope,
        joiner: Joiner,
        url_settings: UrlSettings,
        handler_settings: HandlerSettings,
        allowed_ports: Sequence[int] = (),
        max_redirects: int = 10,
    ) -> None:
        self._scope = scope
        self._keys = joiner.keys
        self._survey = joiner.survey
        self._url_settings = url_settings
        self._allowed_ports = allowed_ports
        self._max_redirects = max_redirects
        self._follow_assets = handler_settings.follow_assets
        self._follow_nofollow = handler_settings.follow_nofollow
        self._follow_links = handler_settings.follow_links
        self._follow_only_links = self._follow_links and not self._follow_assets
        self._recent = Recent()
        self._news_desk = NewsDesk(joiner)
        self._on_probation = Recent(100_000)
        self._place = lru_cache(maxsize=_MAX_PLACES)(self._judge_place)

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
        keys = b""
        news = News.UNKNOWN
        if redirect_to is not None and outcome is _OK:
            outcome = self._redirect(fetch, redirect_to, found)
        if page is not None:
            if page.refresh is not None and page.refresh != fetch.visit.url and redirect_to is None:
                redirect_to = self._refresh(fetch, page.refresh, found)
            if page.outcome is not _OK and outcome is _OK:
                outcome, detail = page.outcome, page.detail
            if self._follow_links:
                keys = self._links(fetch, page, found)
                if fetch.visit.kind == _PAGE:
                    suspected = self._suspected(page, keys)
                    news, found = self._news(fetch, page, suspected, found)
        for url in extra_urls:
            self._offer(url, fetch.visit.depth + 1, Kind.PAGE, (), found)
        body = fetch.body
        headers = fetch.first_headers()
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
            checksum=checksum_of(body) if body and fetch.success else None,
            simhash=page.simhash if page is not None else None,
            etag=headers.get("etag"),
            last_modified=headers.get("last-modified"),
            pointer=document.pointer,
            redirect_to=redirect_to,
            title=page.title if page is not None else "",
            detail=detail[:_MAX_DETAIL],
            retry_after_seconds=fetch.retry_after_seconds,
            targets=distinct(keys),
            found=tuple(found),
            payload_digest=document.payload_digest,
            records=records,
            news=int(news),
        )

    def of_ordinary(
        self,
        fetch: Fetch,
        page: Outline,
        headers: Mapping[str, str],
        pointer: Pointer | None,
        payload_digest: str,
        checksum: bytes | None,
        note: Callable[[Fetch, Outline], str | None] | None,
    ) -> Findings | None:
        """Return what `findings` does of an ordinary page; None if it needs the page as a whole.

        Nothing is made of it that nobody asks for: of most links only the key. `headers` are the
        first ones of each name, `checksum` is that of the body if it is known, `note` is what makes
        the one record of the page, if there is any.
        """
        visit = fetch.visit
        if not (
            self._follow_only_links
            and fetch.outcome is _OK
            and 200 <= fetch.status < 300
            and visit.kind == _PAGE
            and fetch.redirect_to is None
        ):
            return None
        seen = self._survey(
            visit.url,
            page.link_references(),
            self._recent.generations,
            self._on_probation.generations,
        )
        if seen is None:
            return None
        record = None if note is None else note(fetch, page)
        if record is None and note is not None:
            return None
        keys, unreported, suspected = seen
        found: list[Found] = []
        depth = visit.depth + 1
        for url in unreported:
            self._report(url, md5_of(url), depth, _PAGE, (), found)
        news, found = self._news(fetch, page, suspected, found)
        body = fetch.body
        return Findings(
            visit.doc_id,
            visit.trans_id,
            _OK_NUMBER,
            fetch.status,
            fetch.fetched_at,
            fetch.milliseconds,
            visit.tries + 1,
            page.content_type,
            len(body),
            len(fetch.raw),
            (checksum or checksum_of(body)) if body else None,
            page.simhash,
            headers.get("etag"),
            headers.get("last-modified"),
            pointer,
            None,
            page.title,
            fetch.detail[:_MAX_DETAIL],
            fetch.retry_after_seconds,
            keys,
            tuple(found),
            payload_digest,
            () if record is None else (record,),
            int(news),
        )

    def forget(self, findings: Findings) -> None:
        """Take back what was reported in findings that could not be kept."""
        for found in findings.found:
            self._recent.forget(found.md5[:KEY_BYTES])
        self._news_desk.forget()

    def _redirect(self, fetch: Fetch, target_url: str, found: list[Found]) -> Outcome:
        """Offer a redirect's target, which meets scope, robots and politeness like any URL."""
        visit = fetch.visit
        verdict = self._scope.verdict(target_url, host_of(target_url), visit.depth)
        self._offer(target_url, visit.depth, Kind(visit.kind), (*visit.via, visit.url), found)
        return Outcome.REDIR_SCOPE if verdict is Outcome.POLICY_SCOPE else fetch.outcome

    def _refresh(self, fetch: Fetch, target_url: str, found: list[Found]) -> str | None:
        """Offer where a page sends its readers; a long chain of such pages is one of links."""
        visit = fetch.visit
        if len(visit.via) >= self._max_redirects:
            self._offer(target_url, visit.depth + 1, Kind(visit.kind), (), found)
            return None
        self._redirect(fetch, target_url, found)
        return target_url

    def _links(self, fetch: Fetch, page: Page, found: list[Found]) -> bytes:
        """Offer what a page refers to; return the keys of its links, one after the other."""
        depth = fetch.visit.depth + 1
        keys = self._keys([link.url for link in page.links])
        if page.nofollow and not self._follow_nofollow:
            return keys
        # Most pages have nothing new, so most need not be looked through.
        for url in self._followed(page, keys, self._recent.unseen(keys)):
            self._report(url, md5_of(url), depth, _PAGE, (), found)
        for link in page.sitemap_urls:
            self._offer(link.url, fetch.visit.depth, Kind.SITEMAP, (), found)
        if self._follow_assets:
            for link in page.assets:
                self._offer(link.url, depth, Kind.ASSET, (), found)
        return keys

    def _followed(self, page: Page, keys: bytes, numbers: list[int]) -> list[str]:
        """Return the URLs of those of the links that are followed, each once."""
        if not numbers:
            return []
        # By key, for a page may refer to a URL in several ways, of which the last one counts.
        chosen = {
            keys[KEY_BYTES * number : KEY_BYTES * (number + 1)]: page.links[number]
            for number in numbers
        }
        return [link.url for link in chosen.values() if self._follow_nofollow or not link.nofollow]

    def _suspected(self, page: Page, keys: bytes) -> list[str]:
        """Return those of the links that are followed and on probation."""
        if page.nofollow and not self._follow_nofollow:
            return []
        return self._followed(page, keys, self._on_probation.seen(keys))

    def _news(
        self, fetch: Fetch, page: Page | Outline, suspected: list[str], found: list[Found]
    ) -> tuple[News, list[Found]]:
        """Tell whether a page says anything new; where one leads that does not is on probation."""
        family = family_of_url(fetch.visit.url)
        if self._news_desk.has_news(family, fetch, page):
            if suspected:
                self._acquit(suspected, fetch.visit.depth + 1, found)
            return News.SOME, found
        marked = [replace(item, probation=family) if item.kind == _PAGE else item for item in found]
        led_to = [item for item in marked if item.probation and item.state == _PENDING]
        for item in led_to:
            self._on_probation.add(item.md5[:KEY_BYTES])
        leads_on = any(family_of(item.host, item.url) != family for item in led_to)
        return News.UNKNOWN if leads_on else News.NONE, marked

    def _acquit(self, urls: list[str], depth: int, found: list[Found]) -> None:
        """Report links again that were on probation: a page with something to say has them too."""
        for url in urls:
            md5 = md5_of(url)
            self._on_probation.forget(md5[:KEY_BYTES])
            self._report(url, md5, depth, _PAGE, (), found)

    def _offer(
        self, url: str, depth: int, kind: Kind, via: tuple[str, ...], found: list[Found]
    ) -> None:
        md5 = md5_of(url)
        if md5[:KEY_BYTES] not in self._recent:
            self._report(url, md5, depth, int(kind), via, found)

    def _report(
        self,
        url: str,
        md5: bytes,
        depth: int,
        kind: int,
        via: tuple[str, ...],
        found: list[Found],
    ) -> None:
        """Put a URL that was not reported lately among the findings."""
        self._recent.add(md5[:KEY_BYTES])
        # Nearly all are files in directories of which some were judged before.
        directory = directory_of(url)
        is_long = len(directory) > _LONGEST_PLACE
        place = self._judge_place(directory) if is_long else self._place(directory)
        if place.is_taken and "?" not in url:
            found.append(Found(url, md5, place.host, depth, kind, _PENDING, None, via))
            return
        detail = ""
        verdict = self._scope.verdict_within(url, depth) if place.is_reached else _OUT
        if verdict is None and not (place.is_tame and "?" not in url):
            trap = path_trap(url, self._url_settings)
            if trap is not None:
                verdict, detail = Outcome.POLICY_TRAP, trap
        if verdict is None and place.is_port_refused:
            verdict = Outcome.POLICY_PORT
        if verdict is None:
            found.append(Found(url, md5, place.host, depth, kind, _PENDING, None, via))
        else:
            found.append(
                Found(url, md5, place.host, depth, kind, _EXCLUDED, int(verdict), via, "", detail)
            )

    def _judge_place(self, directory: str) -> _Place:
        """Judge a directory for all its files."""
        host = intern(host_of(directory))
        is_reached = self._scope.reaches(directory, host)
        is_refused = port_refusal(port_of(directory), self._allowed_ports) is not None
        tame = is_tame(directory, self._url_settings)
        is_taken = self._scope.takes_folders and is_reached and tame and not is_refused
        return _Place(host, is_reached, is_refused, tame, is_taken)


def _content_type(fetch: Fetch) -> str:
    claimed = fetch.header("content-type") or ""
    return claimed.partition(";")[0].strip().lower()[:127]
