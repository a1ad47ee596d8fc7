"""Which batch of which host has a URL, inside of one transaction."""

import sqlite3
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from msgspec import Struct

from gossamer.catalog.propagation_rules import Change, Hold, Holder, Row
from gossamer.catalog.queries import load_queries
from gossamer.catalog.service_counters import counted
from gossamer.catalog.service_members import Change as Transaction
from gossamer.catalog.service_members import enter, find_document, find_site, newcomer
from gossamer.catalog.service_rows import KnownSite
from gossamer.objects.enumerations import CrawlStatus, URLType
from gossamer.objects.url import URL

PROPAGATION: Final = load_queries("propagation.sql")
_BUSY: Final = frozenset(
    {
        CrawlStatus.SELECTED_CRAWLING,
        CrawlStatus.CRAWLING,
        CrawlStatus.SELECTED_CRAWLING_INCREMENTAL,
    }
)
_DONE: Final = frozenset(
    {
        CrawlStatus.CRAWLED,
        CrawlStatus.SELECTED_PROCESSING,
        CrawlStatus.PROCESSING,
        CrawlStatus.PROCESSED,
    }
)


class SharedState(IntEnum):
    """Where a batch stands that hosts have told each other of."""

    HELD = 0
    HANDED = 1
    CRAWLED_HERE = 2
    ELSEWHERE = 3
    OVER = 4


class Shared(Struct, frozen=True):
    """Such a batch, as this host has it."""

    id: int
    holder: Holder
    executor: str = ""


class SharedItem(Struct, frozen=True):
    """A URL of such a batch."""

    set_id: int
    doc_id: int
    firm: bool
    is_crawled: bool
    url: URL

    @property
    def key(self) -> tuple[int, int]:
        """Its set and document."""
        return self.set_id, self.doc_id

    @property
    def is_root(self) -> bool:
        """Whether every host crawls it."""
        return not self.url.parent_md5


class Holds:
    """Looks at holds and moves them."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._now = transaction.now
        self._sites: dict[str, KnownSite | None] = {}

    def site(self, site_id: str) -> KnownSite | None:
        """Return a site by its id."""
        if site_id not in self._sites:
            self._sites[site_id] = find_site(self._connection, site_id)
        return self._sites[site_id]

    def find(self, site: KnownSite, url: str) -> tuple[int | None, Row | None]:
        """Return the document of a URL, and what it is to a site."""
        doc_id = find_document(self._connection, url)
        return doc_id, None if doc_id is None else self.row(site, doc_id)

    def row(self, site: KnownSite, doc_id: int) -> Row | None:
        """Return what a document is to a site."""
        found = self._connection.execute(PROPAGATION["row"], (site.set_id, doc_id)).fetchone()
        if found is None:
            return None
        status, crawled, is_root, udate, firm, maker, number, state, in_batch = found
        oldest = self._now - 60.0 * site.recrawl_period
        is_due = bool(site.recrawl_period) and udate is not None and udate < oldest
        hold, holder = Hold.NOBODY, None
        if status not in _BUSY:
            pass
        elif state == SharedState.CRAWLED_HERE:
            hold, holder = Hold.HERE, Holder(maker, number)
        elif in_batch:
            # Of a batch that no other host has heard of, and will not hear of when it is over.
            hold = Hold.HERE
        elif state == SharedState.HELD:
            hold, holder = Hold.FIRM if firm else Hold.YIELDING, Holder(maker, number)
        elif state in (SharedState.HANDED, SharedState.ELSEWHERE):
            hold, holder = Hold.FIRM, Holder(maker, number)
        return Row(status, crawled, hold, holder, bool(is_root), is_due)

    def insert(self, site: KnownSite, url: URL, shared: int, holder: Holder) -> None:
        """Make a URL known, selected by a batch."""
        self._enter(site, url, CrawlStatus.SELECTED_CRAWLING, holder.batch)
        doc_id = find_document(self._connection, url.url)
        if doc_id is not None:
            self._connection.execute(PROPAGATION["held_member"], self._held(site, doc_id, holder))
            self._connection.execute(PROPAGATION["hold"], (site.set_id, doc_id, shared, 1))

    def insert_crawled(self, site: KnownSite, url: URL) -> None:
        """Make a URL known that was crawled elsewhere."""
        self._enter(site, url, CrawlStatus.CRAWLED, 0)
        doc_id = find_document(self._connection, url.url)
        if doc_id is not None:
            values = (self._now, site.set_id, doc_id)
            self._connection.execute(PROPAGATION["crawled_member"], values)

    def _enter(self, site: KnownSite, url: URL, status: CrawlStatus, batch_id: int) -> None:
        # What was measured elsewhere does not count here.
        known = URL(
            url=url.url,
            site_id=url.site_id,
            type=url.type,
            request_delay=url.request_delay,
            processing_delay=url.processing_delay,
            http_timeout=url.http_timeout,
            depth=url.depth,
            priority=url.priority,
            parent_md5=url.parent_md5,
            max_urls_from_page=url.max_urls_from_page,
            http_method=url.http_method,
            status=status,
            batch_id=batch_id,
        )
        enter(self._transaction, [newcomer(site, url.url, known, self._now)])

    def hold(
        self, site: KnownSite, doc_id: int, shared: int, holder: Holder, *, firm: bool = True
    ) -> None:
        """Give a URL to a batch."""
        with counted(self._connection, site, [doc_id]):
            self._connection.execute(PROPAGATION["held_member"], self._held(site, doc_id, holder))
        self._connection.execute(PROPAGATION["hold"], (site.set_id, doc_id, shared, int(firm)))

    def _held(self, site: KnownSite, doc_id: int, holder: Holder) -> tuple[object, ...]:
        return holder.batch, self._now, site.set_id, doc_id

    def settle(self, site: KnownSite, doc_id: int, change: Change) -> None:
        """Have a URL crawled elsewhere, or new; nobody has it any more."""
        with counted(self._connection, site, [doc_id]):
            if change is Change.CRAWLED:
                values = (self._now, site.set_id, doc_id)
                self._connection.execute(PROPAGATION["crawled_member"], values)
            elif change is Change.NEW:
                self._connection.execute(PROPAGATION["new_member"], (site.set_id, doc_id))
        self._connection.execute(PROPAGATION["let_go"], (site.set_id, doc_id))

    def release(self, shared: int) -> int:
        """Have all be new that a batch has selected and not begun; return how many."""
        rows = self._connection.execute(PROPAGATION["selected_of"], (shared,)).fetchall()
        self.release_some(rows)
        self._connection.execute(PROPAGATION["let_all_go"], (shared,))
        return len(rows)

    def release_some(self, keys: Iterable[tuple[int, int]]) -> None:
        """Have some URLs be new."""
        for set_id, doc_id in keys:
            site = self.site_of_set(set_id)
            if site is not None:
                self.settle(site, doc_id, Change.NEW)

    def site_of_set(self, set_id: int) -> KnownSite | None:
        """Return the site that has a set of URLs now."""
        row = self._connection.execute(PROPAGATION["site_of_set"], (set_id,)).fetchone()
        return None if row is None else self.site(row[0])

    # Batches.

    def known(self, holder: Holder) -> tuple[int, SharedState] | None:
        """Return number and state of a batch here; None if this host has not heard of it."""
        values = (holder.host, holder.batch)
        row = self._connection.execute(PROPAGATION["batch_by_name"], values).fetchone()
        return None if row is None else (row[0], SharedState(row[1]))

    def learn(self, holder: Holder, state: SharedState, until: float) -> int:
        """Take note of a batch; return its number here."""
        values = (holder.host, holder.batch, int(state), self._now, until)
        return self._connection.execute(PROPAGATION["insert_batch"], values).lastrowid or 0

    def set_state(self, shared: int, state: SharedState, until: float) -> None:
        """Have a batch go on."""
        self._connection.execute(PROPAGATION["set_state"], (int(state), until, shared))


def items_of(connection: sqlite3.Connection, shared: int) -> list[SharedItem]:
    """Return what a batch has."""
    return [_item(*row) for row in connection.execute(PROPAGATION["items_of"], (shared,))]


def _item(
    set_id: int,
    doc_id: int,
    firm: int,
    status: int,
    item_crawled: int,
    site_id: str,
    url: str,
    md5: str,
    type_: int,
    request_delay: float,
    processing_delay: float,
    http_timeout: float,
    crawled: int,
    depth: int,
    priority: int,
    parent_md5: str,
    max_urls_from_page: int,
    http_method: str,
) -> SharedItem:
    made = URL(
        url=url,
        site_id=site_id,
        url_md5=md5,
        type=URLType(type_),
        request_delay=int(request_delay),
        processing_delay=int(processing_delay),
        http_timeout=int(http_timeout),
        crawled=crawled,
        depth=depth,
        priority=priority,
        parent_md5=parent_md5,
        max_urls_from_page=max_urls_from_page,
        http_method=http_method,
    )
    is_crawled = bool(item_crawled) or status in _DONE
    return SharedItem(set_id, doc_id, bool(firm), is_crawled, made)
