"""Batches of the service: members of sites are wanted, fetched, and remembered as crawled.

Runs inside the transactions of the catalog, as `news_commit.py` does for news: what a visit
brought, what that means to each site, and the URLs found on it become durable together.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, TypeVar

import msgspec

from gossamer.catalog.asking import NOTHING_MORE, Asking, Sequel, key_of
from gossamer.catalog.batch_facts import (
    BatchOrder,
    BatchState,
    Item,
    ItemState,
    Memo,
    Plan,
    SiteFacts,
    Wanted,
)
from gossamer.catalog.batch_selection import is_open, proportional
from gossamer.catalog.catalog import Verdict
from gossamer.catalog.collecting import Collector
from gossamer.catalog.iterations import MOST_ITEMS, Iterations
from gossamer.catalog.leases import json_list
from gossamer.catalog.memory import Memory
from gossamer.catalog.proxies import Held
from gossamer.catalog.request_memo import ItemKey
from gossamer.catalog.service_members import Change
from gossamer.catalog.site_book import BATCHES, SiteBook
from gossamer.catalog.tally import Tally
from gossamer.catalog.visits import Standing, Visited, before_visits, values_after
from gossamer.messages import Due, Findings, Kind
from gossamer.objects.enumerations import (
    CrawlerType,
    CrawlStatus,
)
from gossamer.objects.error_mask import ErrorBit, mask_of_outcome
from gossamer.objects.processors import is_read_as_feed
from gossamer.objects.wishes import (
    number_of,
)
from gossamer.outcomes import Outcome, State
from gossamer.reports import PageReport

_HTTP_REDIRECTS_BIT: Final = 1 << ErrorBit.MAX_HTTP_REDIRECTS
_PAGE_REDIRECTS_BIT: Final = 1 << ErrorBit.MAX_HTML_REDIRECTS
_MAX_ITEMS_BIT: Final = 1 << ErrorBit.MAX_ITEMS
_MAX_TIME_BIT: Final = 1 << ErrorBit.MAX_EXECUTION_TIME
_SELECTED: Final[dict[int, CrawlStatus]] = {
    CrawlerType.INCREMENTAL: CrawlStatus.SELECTED_CRAWLING_INCREMENTAL
}
"""The status of what is selected, for kinds of batches that have one of their own."""
_HTTP_REDIRECTS: Final = 5
_PAGE_REDIRECTS: Final = 1

_Member = TypeVar("_Member", Item, Wanted)


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
        self._book = SiteBook(connection, memo)
        change = Change(connection, memory, self._tally, now, self._book.counting)
        self._collector = Collector(change, memo, self._book)
        self._iterations = Iterations(change, self._book)
        self._asking = Asking(connection, self._book, memo, now)
        self._wanted = 0
        self._begun: list[Item] = []
        """Items for which requests go out."""
        self._standings: dict[tuple[int, int], Standing] = {}
        """Members that a visit counts for, as they were before it."""
        self._ended: dict[ItemState, list[ItemKey]] = {}
        """Items that are over, by what they have become."""
        self._shrunk: set[int] = set()
        """Batches of which items have ended."""

    # ---------------------------------------------------------------- batches begin

    def accept(
        self, order: BatchOrder, items: Sequence[Wanted]
    ) -> tuple[int, list[tuple[int, int]]]:
        """Begin a batch of members; return its number and what is in it.

        What belongs to a site that is not active is left out (S3.49), and a site that has reached
        a limit is suspended (S3.50).
        """
        taken = [item for item in items if self._is_open(item.set_id, item.wishes)]
        most = MOST_ITEMS if order.max_items is None else min(order.max_items, MOST_ITEMS)
        mask = _MAX_ITEMS_BIT if len(taken) > most else 0
        taken = taken[:most]
        wait = order.seconds if order.ttl is None else order.ttl
        values = (
            order.kind, len(taken), self._now, self._now + wait, order.seconds,
            order.max_iterations, order.max_items, order.grace, order.pauses, order.drops_rest,
            mask,
        )  # fmt: skip
        batch_id = self._connection.execute(BATCHES["insert_batch"], values).lastrowid or 0
        self._connection.executemany(
            BATCHES["insert_item"], [_first_row(batch_id, item) for item in taken]
        )
        self._connection.executemany(
            BATCHES["join_batch"],
            [(batch_id, item.set_id, item.doc_id) for item in taken if item.is_there],
        )
        self._select(batch_id, order.kind, [item for item in taken if not item.is_there])
        if all(item.is_there for item in taken):
            self._end_iteration(batch_id)
        self._finish()
        return batch_id, [(item.set_id, item.doc_id) for item in taken]

    def _select(self, batch_id: int, kind: int, items: Sequence[Wanted]) -> None:
        """Mark members as selected, and have them fetched."""
        status = int(_SELECTED.get(kind, CrawlStatus.SELECTED_CRAWLING))
        for set_id, members in _by_set(items).items():
            doc_ids = [each.doc_id for each in members]
            self._book.watch(set_id, doc_ids)
            values = (status, batch_id, self._now, set_id, json_list(doc_ids))
            self._connection.execute(BATCHES["select_member"], values)
            self._book.note(set_id, status, doc_ids, self._now)
            self._want(doc_ids)

    def make(self, order: BatchOrder, size: int) -> tuple[int, list[tuple[int, int]]]:
        """Select and begin a batch of new URLs, proportionally over sites; 0 if there are none.

        Selected and marked in one step: no URL is in two batches (S3.15).
        """
        chosen = self.choose(size)
        return self.accept(order, [Wanted(*each) for each in chosen]) if chosen else (0, [])

    def choose(self, size: int) -> list[tuple[int, int]]:
        """Return new URLs for a batch, proportionally over sites, which have had their turn."""
        sites = [row[0] for row in self._connection.execute(BATCHES["sites_with_new"], (size,))]
        chosen = proportional(
            self._connection, [each for each in sites if self._is_open(each)], size
        )
        for set_id in {set_id for set_id, _ in chosen}:
            self._connection.execute(BATCHES["touch_site"], (self._now, set_id))
        return chosen

    def return_stuck(self, before: float, limit: int) -> int:
        """Have members crawled again that nobody has spoken of for long; return how many."""
        rows = self._connection.execute(BATCHES["stuck_members"], (before, limit)).fetchall()
        count = 0
        for set_id, doc_id in rows:
            self._book.watch(set_id, [doc_id])
            values = (set_id, doc_id)
            for (status,) in self._connection.execute(BATCHES["return_member"], values).fetchall():
                count += 1
                if status == CrawlStatus.NEW:
                    self._book.note(set_id, status, [doc_id], self._now)
        self._book.settle()
        return count

    def _is_open(self, set_id: int, wishes: str = "") -> bool:
        return is_open(self._connection, self._book, set_id, wishes, self._now)

    def _want(self, doc_ids: Sequence[int]) -> None:
        """Have URLs fetched, unless they are about to be."""
        self._wanted += len(doc_ids)
        again, first = [], []
        rows = self._connection.execute(BATCHES["url_states"], (json_list(doc_ids),)).fetchall()
        for doc_id, host_id, state, outcome in rows:
            if state == State.EXCLUDED:
                first.append(doc_id)
                self._tally.judge(outcome, None)
            elif state not in (State.PENDING, State.LEASED):
                again.append(doc_id)
            else:
                continue
            self._tally.move(host_id, state, State.PENDING)
        for query, which in (("want_excluded_url", first), ("want_url", again)):
            if which:
                self._connection.execute(BATCHES[query], (int(Kind.PAGE), json_list(which)))

    # ------------------------------------------------------------------- requests go out

    def leased(self, batch: Sequence[Due]) -> list[Due]:
        """Note that requests go out (S3.54); return how each is to be made."""
        items = self._items(due.doc_id for due in batch)
        self._asking.look_at(chain.from_iterable(items.values()))
        planned = [self._with_manner(due, items.get(due.doc_id, ())) for due in batch]
        self._begin_items()
        going = [due for due in planned if due is not None]
        if len(going) < len(batch):
            self._end_what_is_over()
            self._finish()
        self._book.settle()
        return going

    def _with_manner(self, due: Due, items: Sequence[Item]) -> Due | None:
        """Return how a URL is asked for; None if it is not, which ends its items."""
        live, others = self._asking.together(items)
        if not live:
            # Its sites were emptied or deleted: nobody wants it, nor says how fast it may be asked.
            self._asking.let_go(due, self._tally)
            self._leave_out(items)
            return None
        planned = self._asking.plan(due, live)
        if isinstance(planned, Held):
            self._asking.hold(due, live, planned, self._tally)
            self._leave_out(live)
            if others:
                self._want([due.doc_id])
            return None
        self._begun += live
        return self._collector.with_picks(planned, live)

    def _begin_items(self) -> None:
        """Note of items that requests for them go out, of some for the first time."""
        begun, self._begun = self._begun, []
        fresh = [item for item in begun if item.began_at is None]
        again = [item for item in begun if item.began_at is not None]
        for set_id, items in _by_set(begun).items():
            self._book.watch(set_id, [item.doc_id for item in items])
        for query, which in (("crawling_member", fresh), ("crawling_again", again)):
            self._for_each_batch(query, self._now, map(key_of, which))
        for set_id, items in _by_set(fresh).items():
            doc_ids = [item.doc_id for item in items]
            self._book.note(set_id, int(CrawlStatus.CRAWLING), doc_ids, self._now)
        for batch_id in {item.batch_id for item in fresh}:
            self._connection.execute(BATCHES["begin_batch"], (self._now, batch_id))
        self._for_each_batch("begin_item", self._now, map(key_of, begun))

    def _for_each_batch(self, query: str, value: float, keys: Iterable[ItemKey]) -> None:
        """Run a statement with a value for items: once for all of a batch and a set."""
        doc_ids: dict[tuple[int, int], list[int]] = {}
        for batch_id, set_id, doc_id in keys:
            doc_ids.setdefault((batch_id, set_id), []).append(doc_id)
        for place, each in doc_ids.items():
            self._connection.execute(BATCHES[query], (value, *place, json_list(each)))

    def _leave_out(self, items: Sequence[Item]) -> None:
        for item in items:
            self._end_item(item, ItemState.LEFT_OUT)

    # --------------------------------------------------------------- what visits brought

    def apply(self, verdicts: Sequence[Verdict], stale: Iterable[int]) -> int:
        """Let visits count for the members that wanted them; return how many more are wanted."""
        gone = frozenset(stale)
        live = [each for each in verdicts if each.findings.doc_id not in gone]
        visits = [each.findings for each in live if each.state is not State.PENDING]
        items = self._items(findings.doc_id for findings in visits)
        every = list(chain.from_iterable(items.values()))
        self._standings = before_visits(self._connection, every)
        self._asking.look_at(every)
        for set_id, members in _by_set(every).items():
            self._book.watch(set_id, [item.doc_id for item in members])
        for findings in visits:
            self._visited(findings, items.get(findings.doc_id, ()))
        self._end_what_is_over()
        self._finish()
        return self._wanted

    def _visited(self, findings: Findings, items: Sequence[Item]) -> None:
        """Let one visit count for the items that it was made for, unless it is made once more."""
        mine, others = self._asking.asked_for(items, findings.doc_id)
        report = _report(findings)
        sequel = self._asking.after(mine, findings, report)
        if sequel.again or others:
            self._want([findings.doc_id])
        if sequel.again:
            return
        for item in mine:
            with self._book.attending(item.set_id, item.wishes):
                self._judge(item, findings, report, sequel)

    def _judge(self, item: Item, findings: Findings, report: PageReport, sequel: Sequel) -> None:
        site = self._book.site(item.set_id)
        if site is None:
            # Cleaned up or deleted meanwhile.
            self._end_item(item, ItemState.LEFT_OUT)
            return
        if findings.pointer is not None and 200 <= findings.status < 300:
            values = (site.site_id, item.doc_id, findings.doc_id)
            self._connection.execute(BATCHES["keep_content"], values)
        if findings.redirect_to is not None and findings.outcome == Outcome.OK:
            self._follow(item, site, findings, report)
        else:
            mask = mask_of_outcome(Outcome(findings.outcome), findings.status)
            self._crawled(item, site, findings, report, mask, sequel)

    def _follow(self, item: Item, site: SiteFacts, findings: Findings, report: PageReport) -> None:
        """Go on where a redirect leads, as often as the site allows."""
        properties = self._book.properties_of(site.site_id)
        by_page = findings.status < 300 or findings.status >= 400
        if by_page and item.page_hops >= number_of(
            properties, "HTML_REDIRECTS_MAX", _PAGE_REDIRECTS
        ):
            self._crawled(item, site, findings, report, _PAGE_REDIRECTS_BIT)
            return
        if not by_page and item.hops >= number_of(
            properties, "HTTP_REDIRECTS_MAX", _HTTP_REDIRECTS
        ):
            self._crawled(item, site, findings, report, _HTTP_REDIRECTS_BIT)
            return
        stopped = self._collector.stopped_redirect(item, site, findings.redirect_to or "")
        if stopped:
            self._crawled(item, site, findings, report, stopped)
            return
        doc_id = self._collector.document(findings.redirect_to or "", findings.doc_id)
        values = (doc_id, int(not by_page), int(by_page), *key_of(item))
        self._connection.execute(BATCHES["move_item"], values)
        self._want([doc_id])

    def _crawled(
        self,
        item: Item,
        site: SiteFacts,
        findings: Findings,
        report: PageReport,
        mask: int,
        sequel: Sequel = NOTHING_MORE,
    ) -> None:
        """Remember what became of a member (S3.57-S3.62)."""
        standing = self._standing(item)
        if standing is None:
            self._end_item(item, ItemState.LEFT_OUT)
            return
        properties = self._book.properties_of(site.site_id)
        visited = Visited(site, properties, standing.before, findings, report, mask, sequel)
        values = values_after(visited, self._now)
        values |= {"set_id": item.set_id, "doc_id": item.doc_id}
        self._connection.execute(BATCHES["crawled_member"], values)
        status = values["status"]
        assert isinstance(status, int)
        self._book.note(item.set_id, status, [item.doc_id], self._now)
        if not values["mask"] and not is_read_as_feed(findings.content_type, properties):
            page = standing.page(str(values["content_type"]))
            self._collector.collect(item, site, page, report)
            self._iterations.found(item, self._collector.collected)
        self._end_item(item, ItemState.LEFT_OUT if values["mask"] else ItemState.CRAWLED)

    def _standing(self, item: Item) -> Standing | None:
        """Return a member before a visit; None if it is gone."""
        key = (item.set_id, item.doc_id)
        # Whoever asks for the second time asks for what the first visit made of it.
        standing = self._standings.pop(key, None)
        return standing or before_visits(self._connection, [item]).get(key)

    def _end_item(self, item: Item, state: ItemState) -> None:
        self._ended.setdefault(state, []).append(key_of(item))
        self._shrunk.add(item.batch_id)

    def _end_what_is_over(self) -> None:
        """End the batches, or their iterations, that have nothing left to do."""
        ended, self._ended = self._ended, {}
        for state, keys in ended.items():
            self._for_each_batch("end_item", int(state), keys)
        shrunk, self._shrunk = sorted(self._shrunk), set()
        for batch_id in shrunk:
            is_open = self._connection.execute(BATCHES["is_batch_open"], (batch_id,)).fetchone()
            if is_open is None:
                self._end_iteration(batch_id)

    # ---------------------------------------------------------------------- iterations

    def _end_iteration(self, batch_id: int) -> None:
        """End a batch, unless another iteration follows."""
        plan = self._iterations.plan(batch_id)
        if plan is None:
            return
        if not plan.goes_on(self._now):
            self._end_batch(batch_id)
        elif plan.pauses:
            self._connection.execute(BATCHES["pause_batch"], (batch_id,))
        else:
            self._begin_iteration(batch_id, plan)

    def go_on(self, batch_id: int) -> None:
        """Begin the next iteration of a batch that has paused, or end it."""
        plan = self._iterations.plan(batch_id)
        if plan is not None:
            if plan.goes_on(self._now):
                self._begin_iteration(batch_id, plan)
            else:
                self._end_batch(batch_id)
        self._finish()

    def _begin_iteration(self, batch_id: int, plan: Plan) -> None:
        waiting = self._iterations.next_items(batch_id, plan)
        items = [item for item in waiting if self._is_open(item.set_id, item.wishes)]
        for item in items:
            key = (plan.iteration + 1, batch_id, item.set_id, item.doc_id)
            self._connection.execute(BATCHES["begin_waiting_item"], key)
        self._connection.execute(BATCHES["forget_waiting"], (batch_id,))
        self._iterations.forget(batch_id)
        if not items:
            self._end_batch(batch_id)
            return
        self._connection.execute(BATCHES["begin_iteration"], (len(items), batch_id))
        self._select(batch_id, plan.kind, items)

    def _end_batch(self, batch_id: int) -> None:
        """Note that a batch is finished; what still waits stays new."""
        if self._iterations.waits(batch_id):
            # There was no time for another iteration.
            self._iterations.fault(batch_id, _MAX_TIME_BIT)
            self._drop_rest(batch_id)
        self._connection.execute(BATCHES["forget_waiting"], (batch_id,))
        values = (int(BatchState.FINISHED), self._now, "", batch_id)
        self._connection.execute(BATCHES["end_batch"], values)
        self._iterations.forget(batch_id)

    def _drop_rest(self, batch_id: int) -> None:
        plan = self._iterations.plan(batch_id)
        if plan is not None and plan.drops_rest:
            self._iterations.drop_rest(batch_id)
            # Their sites may be told of these URLs again, here and in other processes.
            self._memo.forget()
            self._connection.execute(BATCHES["members_changed"]).fetchone()

    # --------------------------------------------------------------------- batches end

    def expire(self) -> list[int]:
        """Give up batches whose time is over; return which."""
        self._leave_orphans()
        rows = self._connection.execute(BATCHES["overdue_batches"], (self._now,)).fetchall()
        self.give_up([row[0] for row in rows], "its time was over")
        return [row[0] for row in rows]

    def _leave_orphans(self) -> None:
        """End items of sites that are gone, so that others need not wait behind them."""
        rows = self._connection.execute(BATCHES["orphaned_items"]).fetchall()
        for batch_id, set_id, doc_id, _ in rows:
            self._ended.setdefault(ItemState.LEFT_OUT, []).append((batch_id, set_id, doc_id))
            self._shrunk.add(batch_id)
        self._end_what_is_over()
        for *_, at in rows:
            self._unwant(at)

    def give_up(self, batch_ids: Sequence[int], why: str) -> None:
        """End batches: what is selected is new again, or forgotten if the batch asks for that."""
        for batch_id in batch_ids:
            self._drop_rest(batch_id)
            items = self._connection.execute(BATCHES["open_items_of"], (batch_id,)).fetchall()
            for set_id, doc_id, _ in items:
                self._book.watch(set_id, [doc_id])
                if self._connection.execute(BATCHES["release_member"], (set_id, doc_id)).rowcount:
                    self._book.note(set_id, int(CrawlStatus.NEW), [doc_id], self._now)
            keys = [(batch_id, set_id, doc_id) for set_id, doc_id, _ in items]
            self._for_each_batch("end_item", int(ItemState.LEFT_OUT), keys)
            for *_, at in items:
                self._unwant(at)
            self._connection.execute(BATCHES["forget_waiting"], (batch_id,))
            if items:
                self._iterations.fault(batch_id, _MAX_TIME_BIT)
            end = (int(BatchState.FAILED), self._now, why, batch_id)
            self._connection.execute(BATCHES["end_batch"], end)
            self._iterations.forget(batch_id)
        self._finish()

    def _unwant(self, doc_id: int) -> None:
        """Have nobody fetch a URL that no batch wants any more."""
        row = self._connection.execute(BATCHES["unwant_url"], (doc_id,)).fetchone()
        if row is not None:
            self._tally.move(row[0], State.PENDING, State.EXCLUDED)

    # -------------------------------------------------------------------------- looks

    def _items(self, doc_ids: Iterable[int]) -> dict[int, list[Item]]:
        items: dict[int, list[Item]] = {}
        for row in self._connection.execute(BATCHES["open_items"], (json_list(doc_ids),)):
            items.setdefault(row[3], []).append(Item(*row))
        return items

    def _finish(self) -> None:
        self._book.settle()
        self._tally.write(self._connection, self._memory.new_turn(), self._now)


def _by_set(items: Iterable[_Member]) -> dict[int, list[_Member]]:
    """Return items by the set in which their URLs are."""
    by_set: dict[int, list[_Member]] = {}
    for item in items:
        by_set.setdefault(item.set_id, []).append(item)
    return by_set


def _first_row(batch_id: int, item: Wanted) -> tuple[object, ...]:
    """Return an item as it enters a batch."""
    state = int(ItemState.CRAWLED if item.is_there else ItemState.OPEN)
    return batch_id, item.set_id, item.doc_id, item.doc_id, state, 1, item.wishes, item.made


def _report(findings: Findings) -> PageReport:
    for record in findings.records:
        try:
            return msgspec.json.decode(record, type=PageReport)
        except msgspec.DecodeError:
            continue
    return PageReport()
