"""URLs found on pages become members of sites, as each site wants it (S3.67-S3.69)."""

import sqlite3
from collections.abc import Iterable, Sequence

from gossamer.catalog.batch_facts import Item, MemberFacts, Memo, SiteFacts
from gossamer.catalog.discover import discover, known_urls
from gossamer.catalog.leases import json_list
from gossamer.catalog.memory import Memory
from gossamer.catalog.site_book import BATCHES, SiteBook
from gossamer.catalog.tally import Tally
from gossamer.messages import Found, Kind
from gossamer.objects.enumerations import FilterMode, FilterStage, URLType
from gossamer.objects.filters import passes
from gossamer.outcomes import State
from gossamer.reports import PageReport
from gossamer.url.parts import host_of, md5_of


class Collector:
    """Collects URLs inside of one transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        memory: Memory,
        memo: Memo,
        book: SiteBook,
        tally: Tally,
        now: float,
    ) -> None:
        self._connection = connection
        self._memory = memory
        self._memo = memo
        self._book = book
        self._tally = tally
        self._now = now

    def collect(self, item: Item, site: SiteFacts, report: PageReport) -> int:
        """Tell the site of the URLs found on a page, if it wants them (S3.67-S3.69)."""
        member = self._book.member(item)
        if member is None or member.type == URLType.SINGLE:
            return 0
        keys = {md5_of(url): url for url in report.links}
        media = {md5_of(url): url for url in report.media}
        fresh = self._memo.unknown(item.set_id, keys.keys() | media.keys())
        if not fresh:
            return 0
        filters = self._book.filters_of(site.site_id)
        wanted = [
            (md5, url)
            for md5, url in {**media, **keys}.items()
            if md5 in fresh
            and passes(
                url,
                filters,
                FilterStage.COLLECT_URLS,
                FilterMode.MEDIA if md5 in media else FilterMode.URL,
            )
        ]
        limit = site.max_urls_from_page or member.max_urls_from_page
        if limit:
            wanted = wanted[:limit]
        self._memo.learn(item.set_id, fresh)
        return self._enter(item, site, member, wanted)

    def _enter(
        self,
        item: Item,
        site: SiteFacts,
        member: MemberFacts,
        wanted: Sequence[tuple[bytes, str]],
    ) -> int:
        if not wanted:
            return 0
        doc_ids = self._documents(wanted, item.doc_id)
        known = {
            row[0]: row
            for row in self._connection.execute(
                BATCHES["known_members"], (item.set_id, json_list(doc_ids))
            )
        }
        renewed = self._renew(item.set_id, site, known.values())
        fresh = [doc_id for doc_id in doc_ids if doc_id not in known]
        if site.max_urls:
            (count,) = self._connection.execute(
                BATCHES["members_of_site"], (item.set_id,)
            ).fetchone()
            fresh = fresh[: max(0, site.max_urls - count)]
        (md5,) = self._connection.execute(BATCHES["md5_of"], (item.doc_id,)).fetchone()
        rows = [
            (
                item.set_id, doc_id, site.url_type, member.priority, member.depth + 1,
                site.request_delay, site.http_timeout, md5.hex(), self._now, self._now,
            )
            for doc_id in fresh
        ]  # fmt: skip
        with self._book.counted(item.set_id, fresh):
            self._connection.executemany(BATCHES["insert_member"], rows)
        return len(fresh) + renewed

    def _renew(
        self, set_id: int, site: SiteFacts, known: Iterable[tuple[int, int, float | None]]
    ) -> int:
        """Have known URLs crawled again that were found again, if their time has come."""
        if not site.recrawl_period:
            return 0
        latest = self._now - 60.0 * site.recrawl_period
        old = [doc_id for doc_id, _, udate in known if udate is not None and udate < latest]
        with self._book.counted(set_id, old):
            rows = [(set_id, doc_id) for doc_id in old]
            return self._connection.executemany(BATCHES["renew_member"], rows).rowcount

    def _documents(self, wanted: Sequence[tuple[bytes, str]], parent: int) -> list[int]:
        """Return the documents of URLs, which become known if they are not."""
        md5s = [md5 for md5, _ in wanted]
        known = known_urls(self._connection, md5s)
        unknown = [
            (Found(url, md5, host_of(url), 1, int(Kind.PAGE), int(State.EXCLUDED)), parent)
            for md5, url in wanted
            if md5 not in known
        ]
        if unknown:
            discover(self._connection, self._memory, self._tally, unknown, self._now)
            known = known_urls(self._connection, md5s)
        return [known[md5][0] for md5 in md5s if md5 in known]

    def document(self, url: str, parent: int) -> int:
        """Return the document of a URL, which becomes known if it is not."""
        return self._documents([(md5_of(url), url)], parent)[0]
