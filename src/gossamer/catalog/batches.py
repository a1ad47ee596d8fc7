"""Batches of the service: members of sites are wanted, fetched, and remembered as crawled.

Runs inside the transactions of the catalog, as `news_commit.py` does for news: what a visit
brought, what that means to each site, and the URLs found on it become durable together.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from gossamer.catalog.batch_facts import (
    BatchState,
    Item,
    ItemState,
    MemberFacts,
    Memo,
    SiteFacts,
)
from gossamer.catalog.catalog import Verdict
from gossamer.catalog.collecting import Collector
from gossamer.catalog.leases import json_list
from gossamer.catalog.manners import manner_of
from gossamer.catalog.memory import Memory
from gossamer.catalog.site_book import BATCHES, SiteBook
from gossamer.catalog.tally import Tally
from gossamer.messages import NOT_MODIFIED_STATUS, Due, Findings, Kind
from gossamer.objects.enumerations import (
    SiteState,
    URLState,
)
from gossamer.objects.error_mask import ErrorBit, mask_of_outcome
from gossamer.objects.wishes import (
    is_allowed,
    number_of,
    status_after,
)
from gossamer.outcomes import Outcome, State
from gossamer.reports import PageReport

_MAX_ERRORS_BIT: Final = 1 << ErrorBit.SITE_MAX_ERRORS
_MAX_RESOURCES_BIT: Final = 1 << ErrorBit.SITE_MAX_RESOURCES
_EMPTY_BIT: Final = 1 << ErrorBit.EMPTY_CONTENT
_TYPE_BIT: Final = 1 << ErrorBit.WRONG_MIME_TYPE
_SIZE_BIT: Final = 1 << ErrorBit.SIZE_ERROR
_HTTP_REDIRECTS_BIT: Final = 1 << ErrorBit.MAX_HTTP_REDIRECTS
_PAGE_REDIRECTS_BIT: Final = 1 << ErrorBit.MAX_HTML_REDIRECTS
_HTTP_REDIRECTS: Final = 5
_PAGE_REDIRECTS: Final = 1


class BatchCommit:
    """One transaction's worth of the service."""

    def __init__(
        self, connection: sqlite3.Connection, memory: Memory, memo: Memo, now: float
    ) -> None:
        self._connection = connection
        self._memory = memory
        self._memo = memo
        self._now = now
        self._tally = Tally()
        self._book = SiteBook(connection)
        self._collector = Collector(connection, memory, memo, self._book, self._tally, now)
        self._wanted = 0

    # ---------------------------------------------------------------- batches begin

    def accept(
        self, kind: int, items: Sequence[tuple[int, int]], until: float
    ) -> tuple[int, list[tuple[int, int]]]:
        """Begin a batch of members, each by set and document; return its number and what is in it.

        What belongs to a site that is not active is left out (S3.49), and a site that has reached
        a limit is suspended (S3.50).
        """
        taken = [item for item in items if self._is_open(item[0])]
        values = (kind, len(taken), self._now, until)
        batch_id = self._connection.execute(BATCHES["insert_batch"], values).lastrowid or 0
        for set_id, doc_ids in _by_set(taken).items():
            with self._book.counted(set_id, doc_ids):
                for doc_id in doc_ids:
                    item = (batch_id, set_id, doc_id, doc_id)
                    self._connection.execute(BATCHES["insert_item"], item)
                    member = (batch_id, self._now, set_id, doc_id)
                    self._connection.execute(BATCHES["select_member"], member)
                    self._want(doc_id)
        if not taken:
            self._connection.execute(
                BATCHES["end_batch"], (int(BatchState.FINISHED), self._now, "", batch_id)
            )
        self._finish()
        return batch_id, taken

    def make(self, kind: int, size: int, until: float) -> tuple[int, list[tuple[int, int]]]:
        """Select and begin a batch of new URLs, proportionally over sites; 0 if there are none.

        Selected and marked in one step: no URL is in two batches (S3.15).
        """
        sites = [row[0] for row in self._connection.execute(BATCHES["sites_with_new"], (size,))]
        chosen = self._proportional([each for each in sites if self._is_open(each)], size)
        if not chosen:
            return 0, []
        for set_id in {set_id for set_id, _ in chosen}:
            self._connection.execute(BATCHES["touch_site"], (self._now, set_id))
        return self.accept(kind, chosen, until)

    def _proportional(self, sites: Sequence[int], size: int) -> list[tuple[int, int]]:
        """Take a quantum of each site, round by round, until there is enough."""
        if not sites:
            return []
        quantum = max(1, size // len(sites))
        offered = {set_id: self._new_of(set_id, size) for set_id in sites}
        chosen: list[tuple[int, int]] = []
        for start in range(0, size, quantum):
            for set_id in sites:
                room = size - len(chosen)
                part = offered[set_id][start : start + min(quantum, room)]
                chosen += [(set_id, doc_id) for doc_id in part]
        return chosen

    def _new_of(self, set_id: int, limit: int) -> list[int]:
        """Return new URLs of a site: its roots, then the most wanted."""
        roots = self._connection.execute(BATCHES["new_roots"], (set_id, limit)).fetchall()
        others: list[tuple[int]] = []
        if len(roots) < limit:
            values = (set_id, limit - len(roots))
            others = self._connection.execute(BATCHES["new_members"], values).fetchall()
        return [row[0] for row in (*roots, *others)]

    def return_stuck(self, before: float, limit: int) -> int:
        """Have members crawled again that nobody has spoken of for long; return how many."""
        rows = self._connection.execute(BATCHES["stuck_members"], (before, limit)).fetchall()
        return sum(self._connection.execute(BATCHES["return_member"], row).rowcount for row in rows)

    def _is_open(self, set_id: int) -> bool:
        site = self._book.site(set_id)
        if site is None or site.state != SiteState.ACTIVE:
            return False
        bit = 0
        if site.max_errors and site.errors > site.max_errors:
            bit = _MAX_ERRORS_BIT
        elif site.max_resources and site.resources > site.max_resources:
            bit = _MAX_RESOURCES_BIT
        if not bit:
            return True
        self._connection.execute(BATCHES["suspend_site"], (bit, self._now, site.site_id))
        self._book.forget(set_id)
        return False

    def _want(self, doc_id: int, kind: Kind = Kind.PAGE) -> None:
        """Have a URL fetched, unless it is about to be."""
        row = self._connection.execute(BATCHES["url_state"], (doc_id,)).fetchone()
        host_id, state, outcome = row
        self._wanted += 1
        if state in (State.PENDING, State.LEASED):
            return
        query = "want_excluded_url" if state == State.EXCLUDED else "want_url"
        self._connection.execute(BATCHES[query], (int(kind), doc_id))
        self._tally.move(host_id, state, State.PENDING)
        if state == State.EXCLUDED:
            self._tally.judge(outcome, None)

    # ------------------------------------------------------------------- requests go out

    def leased(self, batch: Sequence[Due]) -> list[Due]:
        """Note that requests go out (S3.54); return how each is to be made."""
        items = self._items(due.doc_id for due in batch)
        return [self._with_manner(due, items.get(due.doc_id, ())) for due in batch]

    def _with_manner(self, due: Due, items: Sequence[Item]) -> Due:
        kept_as = []
        first: tuple[SiteFacts, MemberFacts] | None = None
        for item in items:
            site, member = self._book.site(item.set_id), self._book.member(item)
            if site is None or member is None:
                continue
            first = first or (site, member)
            md5 = self._connection.execute(BATCHES["md5_of"], (item.doc_id,)).fetchone()[0]
            kept_as.append((site.id, md5.hex()))
            values = (self._now, item.batch_id, item.set_id, item.doc_id)
            if item.began_at is None:
                with self._book.counted(item.set_id, [item.doc_id]):
                    self._connection.execute(BATCHES["crawling_member"], values)
            self._connection.execute(BATCHES["begin_item"], values)
        if first is None:
            return due
        site, member = first
        manner = manner_of(
            site, member, self._book.properties_of(site.site_id), self._memo, kept_as
        )
        return msgspec.structs.replace(due, manner=manner)

    # --------------------------------------------------------------- what visits brought

    def apply(self, verdicts: Sequence[Verdict], stale: Iterable[int]) -> int:
        """Let visits count for the members that wanted them; return how many more are wanted."""
        gone = frozenset(stale)
        live = [each for each in verdicts if each.findings.doc_id not in gone]
        items = self._items(each.findings.doc_id for each in live)
        for verdict in live:
            for item in items.get(verdict.findings.doc_id, ()):
                if verdict.state is not State.PENDING:
                    self._judge(item, verdict.findings)
        self._finish()
        return self._wanted

    def _judge(self, item: Item, findings: Findings) -> None:
        site = self._book.site(item.set_id)
        if site is None:
            # Cleaned up or deleted meanwhile.
            self._end_item(item, ItemState.LEFT_OUT)
        elif findings.redirect_to is not None and findings.outcome == Outcome.OK:
            self._follow(item, site, findings)
        else:
            self._crawled(
                item, site, findings, mask_of_outcome(Outcome(findings.outcome), findings.status)
            )

    def _follow(self, item: Item, site: SiteFacts, findings: Findings) -> None:
        """Go on where a redirect leads, as often as the site allows."""
        properties = self._book.properties_of(site.site_id)
        by_page = findings.status < 300 or findings.status >= 400
        if by_page and item.page_hops >= number_of(
            properties, "HTML_REDIRECTS_MAX", _PAGE_REDIRECTS
        ):
            self._crawled(item, site, findings, _PAGE_REDIRECTS_BIT)
            return
        if not by_page and item.hops >= number_of(
            properties, "HTTP_REDIRECTS_MAX", _HTTP_REDIRECTS
        ):
            self._crawled(item, site, findings, _HTTP_REDIRECTS_BIT)
            return
        doc_id = self._collector.document(findings.redirect_to or "", findings.doc_id)
        values = (doc_id, int(not by_page), int(by_page), *_key(item))
        self._connection.execute(BATCHES["move_item"], values)
        self._want(doc_id)

    def _crawled(self, item: Item, site: SiteFacts, findings: Findings, mask: int) -> None:
        """Remember what became of a member (S3.57-S3.62)."""
        report = _report(findings)
        unchanged = findings.status == NOT_MODIFIED_STATUS
        if site.max_resource_size and findings.body_bytes > site.max_resource_size:
            mask |= _SIZE_BIT
        if not mask and not findings.body_bytes and not unchanged:
            mask |= _EMPTY_BIT
        properties = self._book.properties_of(site.site_id)
        if not mask and not unchanged and not is_allowed(findings.content_type, properties):
            mask |= _TYPE_BIT
        before = self._connection.execute(
            BATCHES["was_like"], (item.set_id, item.doc_id)
        ).fetchone()
        if before is None:
            self._end_item(item, ItemState.LEFT_OUT)
            return
        time = float(findings.milliseconds)
        size = before[0] if unchanged else findings.body_bytes
        values = {
            "status": status_after(findings.status, properties),
            "state": int(URLState.ERROR if mask else URLState.ENABLED),
            "content_type": before[1] if unchanged else findings.content_type,
            "charset": report.charset,
            "mask": mask,
            "time": time,
            "now": self._now,
            "code": findings.status,
            "size": size,
            "raw_md5": report.raw_md5,
            "inside": report.links_inside,
            "outside": report.links_outside,
            "last_modified": report.last_modified,
            "etag": findings.etag or "",
            "content_mask": int(size > 0 and not mask),
            "changed": int(not unchanged),
            "set_id": item.set_id,
            "doc_id": item.doc_id,
        }
        with self._book.counted(item.set_id, [item.doc_id]):
            self._connection.execute(BATCHES["crawled_member"], values)
        if not mask:
            self._collector.collect(item, site, report)
        self._end_item(item, ItemState.LEFT_OUT if mask else ItemState.CRAWLED)

    def _end_item(self, item: Item, state: ItemState) -> None:
        self._connection.execute(BATCHES["end_item"], (int(state), *_key(item)))
        if self._connection.execute(BATCHES["is_batch_open"], (item.batch_id,)).fetchone() is None:
            values = (int(BatchState.FINISHED), self._now, "", item.batch_id)
            self._connection.execute(BATCHES["end_batch"], values)

    # --------------------------------------------------------------------- batches end

    def expire(self) -> list[int]:
        """Give up batches whose time is over; return which."""
        rows = self._connection.execute(BATCHES["overdue_batches"], (self._now,)).fetchall()
        self.give_up([row[0] for row in rows], "its time was over")
        return [row[0] for row in rows]

    def give_up(self, batch_ids: Sequence[int], why: str) -> None:
        """End batches: what is selected is new again."""
        for batch_id in batch_ids:
            items = self._connection.execute(BATCHES["open_items_of"], (batch_id,)).fetchall()
            for set_id, doc_id, _ in items:
                with self._book.counted(set_id, [doc_id]):
                    self._connection.execute(BATCHES["release_member"], (set_id, doc_id))
                values = (int(ItemState.LEFT_OUT), batch_id, set_id, doc_id)
                self._connection.execute(BATCHES["end_item"], values)
            end = (int(BatchState.FAILED), self._now, why, batch_id)
            self._connection.execute(BATCHES["end_batch"], end)

    # -------------------------------------------------------------------------- looks

    def _items(self, doc_ids: Iterable[int]) -> dict[int, list[Item]]:
        items: dict[int, list[Item]] = {}
        for row in self._connection.execute(BATCHES["open_items"], (json_list(doc_ids),)):
            items.setdefault(row[3], []).append(Item(*row))
        return items

    def _finish(self) -> None:
        self._tally.write(self._connection, self._memory.new_turn(), self._now)


def _by_set(members: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Return documents by the set in which they are."""
    by_set: dict[int, list[int]] = {}
    for set_id, doc_id in members:
        by_set.setdefault(set_id, []).append(doc_id)
    return by_set


def _key(item: Item) -> tuple[int, int, int]:
    return item.batch_id, item.set_id, item.doc_id


def _report(findings: Findings) -> PageReport:
    for record in findings.records:
        try:
            return msgspec.json.decode(record, type=PageReport)
        except msgspec.DecodeError:
            continue
    return PageReport()
