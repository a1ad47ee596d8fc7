"""The Spider as a daemon: orders in from URL Servers, results out to a Store Server.

Theory of operation. One process, one loop: that of the spider. An order is fetched the moment its
line has arrived (S0.20); nothing is queued or put off here (S0.7), but for the hops of redirects,
which no URL Server has timed (`spider_hops.py`) or held against a robots.txt (`spider_robots.py`).
When an order's last hop has ended, all its results go into the spool together, and DONE is said
once they are durable there, so that no end of this process loses what was reported. WORKING is said
when a request is on the wire, and again before Timeout_Update has passed since the last word. GET
is said so that what is open and what was asked for stay within `max_open` and within the space that
the spool has left; a URL Server that sends more all the same is not listened to meanwhile, and one
that calls while there is none is left: it could not tell us from a Spider without GET. When a link
is lost, its open fetches end at once: their URLs are ordered again by whoever ordered them, and
nobody times them any more.
"""

import socket
from bisect import bisect_right
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final

from gossamer.clock import Clock
from gossamer.config.settings import Settings
from gossamer.daemons.peers import HANDSHAKE_SECONDS, Endpoint, accept
from gossamer.daemons.spider_credit import grant, room_in
from gossamer.daemons.spider_hops import Gaps, Hop, Hops, stays_on_host
from gossamer.daemons.spider_links import Link
from gossamer.daemons.spider_notes import Notes
from gossamer.daemons.spider_orders import Transaction, Transactions, canonical_url
from gossamer.daemons.spider_parcels import parcel_of
from gossamer.daemons.spider_robots import HopRobots, robots_url
from gossamer.daemons.spool import Spool
from gossamer.daemons.store_link import StoreLink
from gossamer.errors import StorageError
from gossamer.messages import Fetch, Kind
from gossamer.spider.spider import Spider
from gossamer.url.address import AddressPolicy
from gossamer.url.canonical import host_of
from gossamer.url.parts import path_query_of
from gossamer.wire.lines import Order, done_line, working_line

_IDLE_SECONDS: Final = 1.0
_SYNC_SECONDS: Final = 0.005
_SYNC_RESULTS: Final = 64
_DISK_RETRY_SECONDS: Final = 0.5
_ACCEPT_RETRY_SECONDS: Final = 0.05
_LINGER_SECONDS: Final = 0.5
_LEAST_STALL_SECONDS: Final = 5.0
# Beyond its limit the spool takes what was ordered before; beyond this, not even that is read.
_EXCESS_BYTES: Final = 64 << 20
_MOST_GATHERED_BYTES: Final = 64 << 20
_NO_ROOM: Final = "there is no room in the spool; it may call again"


class SpiderDaemon:
    """Serves until it is told to stop; `turn` is one round of its loop."""

    def __init__(
        self,
        settings: Settings,
        listener: socket.socket,
        store: Endpoint,
        secret: bytes | None,
        spool: Spool,
        clock: Clock,
        notes: Notes,
    ) -> None:
        self._settings = settings.spider
        self._max_peers = settings.wire.max_peers
        self._secret = secret
        self._spool = spool
        self._clock = clock
        self._notes = notes
        self._spider = Spider(settings.spider, AddressPolicy(settings.url), clock)
        self._gaps = Gaps(settings.urlserver)
        self._patience = settings.spider.timeout_request_ms / 1000.0
        self._hops = Hops(self._gaps, self._patience)
        self._robots = HopRobots(settings)
        self._transactions = Transactions(settings.spider.timeout_update_ms / 1000.0)
        self._store = StoreLink(
            store,
            secret,
            spool,
            settings.wire.flow_grace_ms / 1000.0,
            self._spider,
            lambda text: notes.say("the Store Server", text),
        )
        self._links: list[Link] = []
        self._awake: set[Link] = set()
        """Links on whose socket something happened."""
        self._listener: socket.socket | None = listener
        self._is_called = False
        self._turns_away = False
        """Whether callers are left for want of room: the first of them is told of."""
        self._accept_at: float | None = None
        """When to listen again, after nobody was there who had called."""
        self._kept: list[Transaction] = []
        """Those whose results are in the spool but not durable yet."""
        self._oldest_kept = 0.0
        self._disk_retry_at: float | None = None
        """When to try again, while the disk refuses."""
        # After two of these without a word, a URL Server may assume a crash (S1.33).
        two_updates = 2 * settings.spider.timeout_update_ms / 1000.0
        self._stall_seconds = max(two_updates, _LEAST_STALL_SECONDS)
        self._turned_at = clock.monotonic()
        self._stop_at: float | None = None
        self._linger_until: float | None = None
        self.orders = 0
        """How many orders were taken in all."""
        self._spider.watch(listener.fileno(), self._on_call)

    @property
    def delivered(self) -> int:
        """How many results the Store Server has taken."""
        return self._store.delivered

    def watch(self, descriptor: int, callback: Callable[[], None]) -> None:
        """Call back when this descriptor can be read; the turn goes on then."""
        self._spider.watch(descriptor, callback)

    def unwatch(self, descriptor: int) -> None:
        """Call back no more; before the descriptor is closed."""
        self._spider.unwatch(descriptor)

    def stop(self) -> None:
        """Take no new orders, finish what is open within the grace; the second time, do not."""
        now = self._clock.monotonic()
        if self._stop_at is not None:
            self._stop_at = now
            return
        grace = min(self._settings.grace_seconds, self._settings.timeout_request_ms / 1000.0)
        self._stop_at = now + grace
        self._close_listener()

    def turn(self) -> bool:
        """Wait for something to happen and do what follows; False when all is over."""
        fetches = self._spider.poll(self._wait_seconds(self._clock.monotonic()))
        now = self._clock.monotonic()
        self._notice_stall(now)
        self._report_started()
        for fetch in fetches:
            self._take(fetch, now)
        self._accept(now)
        self._serve_links(now)
        self._begin_hops(now)
        self._keep(now, busy=bool(fetches))
        self._report_overdue(now)
        self._store.step(now)
        if self._stop_at is None:
            self._ask_for_more()
        elif self._is_wound_up(now, self._stop_at):
            return False
        self._tend_links()
        return True

    def close(self) -> None:
        """End everything now; what is durable in the spool stays there."""
        self._close_listener()
        for link in self._links:
            link.close("the Spider ends")
        self._links.clear()
        self._store.close()
        self._spider.close()
        self._spool.close()

    # Links

    def _on_call(self) -> None:
        self._is_called = True

    def _accept(self, now: float) -> None:
        listener = self._listener
        if listener is None:
            return
        if self._accept_at is not None and now >= self._accept_at:
            self._accept_at = None
            self._spider.watch(listener.fileno(), self._on_call)
        if not self._is_called:
            return
        self._is_called = False
        peer = accept(listener, self._secret)
        if peer is None:
            # Gone again, or we are out of descriptors: do not ask in a tight loop.
            self._spider.unwatch(listener.fileno())
            self._accept_at = now + _ACCEPT_RETRY_SECONDS
            return
        if len(self._links) >= self._max_peers and not self._leave_unproved():
            peer.close()
            self._notes.say(
                "too many links",
                f"the URL Server {peer.name} was turned away: {self._max_peers} are connected "
                "already ([wire] max_peers)",
            )
            return
        self._links.append(Link(peer, self._spider, self._awake.add, now))

    def _notice_stall(self, now: float) -> None:
        """Leave all URL Servers if we stood still for so long that they have given us up.

        They have ordered again what is open or unread here, perhaps more than once, and time those
        hosts anew: what they call a crash must be one.
        """
        stalled, self._turned_at = now - self._turned_at, now
        if stalled > self._stall_seconds + _IDLE_SECONDS:
            for link in self._links:
                link.close(f"this Spider was held up for {stalled:.0f} seconds")

    def _leave_unproved(self) -> bool:
        """Make room for a caller: strangers that only hold on must not keep others out."""
        for link in self._links:
            if not link.is_ready:
                link.close("it has not proved the secret, and others call")
                return True
        return False

    def _serve_links(self, now: float) -> None:
        awake = list(self._awake)
        self._awake.clear()
        for link in awake:
            orders, complaints = link.receive(wanted=self._wants_orders(link))
            for order in [] if link.closed else orders:
                self._begin(link, order, now)
            for complaint in complaints:
                text = f"a line of the URL Server {link.name} was skipped: {complaint}"
                self._notes.say("lines", text)
        for link in [each for each in self._links if not each.closed and not each.is_ready]:
            if now - link.began_at >= HANDSHAKE_SECONDS:
                link.close(f"no proof of the secret within {HANDSHAKE_SECONDS:.0f} seconds")
        for link in [each for each in self._links if each.closed]:
            self._lose(link, now)

    def _lose(self, link: Link, now: float) -> None:
        """End at once what a link that is gone had ordered."""
        self._links.remove(link)
        self._awake.discard(link)
        self._drop(list(link.open.values()), now)
        if self._stop_at is not None or (self._turns_away and link.reason == _NO_ROOM):
            return
        self._turns_away = self._turns_away or link.reason == _NO_ROOM
        self._notes.say("links", f"the link to the URL Server {link.name} ended: {link.reason}")

    def _wants_orders(self, link: Link) -> bool:
        """Whether to listen to a URL Server: only if we asked for something, and can keep it."""
        spool = self._spool
        return (
            self._stop_at is None
            and link.credit > 0
            and spool.used_bytes < spool.limit_bytes + _EXCESS_BYTES
            and spool.gathered_bytes < _MOST_GATHERED_BYTES
        )

    def _tend_links(self) -> None:
        for link in self._links:
            link.tend(reading=self._wants_orders(link))

    def _ask_for_more(self) -> None:
        """Say GET where there is room (S0.15); each link has a share of it, used or not."""
        links = [link for link in self._links if link.is_ready]
        if not links:
            return
        spool = self._spool
        is_refused = self._disk_retry_at is not None
        free = 0 if is_refused else (spool.limit_bytes - spool.used_bytes) / len(links)
        share = max(self._settings.max_open // len(links), 1)
        for link in links:
            room = room_in(free, spool.typical_bytes, len(link.open) + link.credit)
            count = grant(share, len(link.open), link.credit, room)
            if count:
                link.ask_for(count)
                if self._turns_away:
                    self._turns_away = False
                    self._notes.say("links", "there is room in the spool again")
            elif not link.is_asked:
                # Who hears no GET may push: orders that nobody reads, and then all at one moment.
                link.close(_NO_ROOM)

    # Orders

    def _begin(self, link: Link, order: Order, now: float) -> None:
        """Fetch on receipt (S0.11, S0.20)."""
        self.orders += 1
        link.credit = max(link.credit - 1, 0)
        given_up = link.open.get(order.trans_id)
        if given_up is not None:
            # The URL Server uses the id again: it has given up the order that had it.
            self._drop([given_up], now)
        transaction = self._transactions.begin(link, order, now)
        link.open[order.trans_id] = transaction
        url = canonical_url(order)
        if url is None:
            self._take(transaction.unusable(self._clock.time()), now)
            return
        self._gaps.note(host_of(url), order.address, now)
        self._spider.start(transaction.visit_to(url))

    def _report_started(self) -> None:
        """Say WORKING for each request that has gone out: gaps are counted from then."""
        for ticket, sent_at in self._spider.started():
            transaction = self._transactions.get(ticket)
            if transaction is not None:
                visit = transaction.visit
                self._gaps.note(host_of(visit.url), visit.address, sent_at)
                self._say_working(transaction, sent_at)
        # Its own timer knows nothing of hops and of results that wait for the disk.
        self._spider.working()

    def _report_overdue(self, now: float) -> None:
        """Say WORKING where nothing was said for long (S0.13, S0.19, S0.22)."""
        for transaction in self._transactions.overdue(now):
            self._say_working(transaction, now)

    def _say_working(self, transaction: Transaction, now: float) -> None:
        transaction.reported_at = now
        transaction.link.say(working_line(transaction.order.trans_id))

    def _take(self, fetch: Fetch, now: float) -> None:
        """Go on to the next hop, or finish the order."""
        transaction = self._transactions.get(fetch.visit.trans_id)
        if transaction is None:
            return
        if fetch.visit.kind == Kind.ROBOTS:
            for waiting in self._those(self._robots.answered(fetch, now)):
                self._go_on(waiting, now)
            return
        transaction.fetches.append(fetch)
        self._go_on(transaction, now)

    def _go_on(self, transaction: Transaction, now: float) -> None:
        """Follow a redirect in place if that is for us to decide, and ask robots.txt before."""
        last = transaction.fetches[-1].visit
        target = transaction.fetches[-1].redirect_to
        if (
            target is None
            or not self._settings.follow_in_place
            or self._stop_at is not None
            or not stays_on_host(last.url, target)
        ):
            self._finish(transaction, now)
            return
        rules = self._robots.known(target, now)
        if rules is None:
            if self._robots.wait(transaction.ticket, target):
                url = robots_url(target)
                self._say_working(transaction, now)
                self._hops.add(transaction.ticket, url, last.address, now, kind=Kind.ROBOTS)
        elif rules.allows(path_query_of(target)) and rules.crawl_delay <= self._patience:
            delay = rules.crawl_delay
            self._say_working(transaction, now)
            self._hops.add(transaction.ticket, target, last.address, now, delay=delay)
        else:
            self._finish(transaction, now)

    def _begin_hops(self, now: float) -> None:
        moment = self._hops.take(now)
        for hop, transaction in self._owners(moment.begin):
            # Before it is known to be out: should we be held up now, no order comes within a gap.
            self._say_working(transaction, now)
            self._spider.start(transaction.visit_to(hop.url, hop.kind))
        for _, transaction in self._owners(moment.announce):
            self._say_working(transaction, now)
        for hop, transaction in self._owners(moment.give_up):
            if hop.kind is Kind.ROBOTS:
                for waiting in self._those(self._robots.abandon(hop.url)):
                    self._finish(waiting, now)
            else:
                self._finish(transaction, now)

    def _those(self, tickets: list[int]) -> Iterator[Transaction]:
        """Yield the transactions that are still open."""
        for ticket in tickets:
            transaction = self._transactions.get(ticket)
            if transaction is not None:
                yield transaction

    def _owners(self, hops: list[Hop]) -> Iterator[tuple[Hop, Transaction]]:
        for hop in hops:
            transaction = self._transactions.get(hop.ticket)
            if transaction is not None:
                yield hop, transaction

    def _finish(self, transaction: Transaction, now: float) -> None:
        """Hand all results of an order to the spool."""
        if not self._kept:
            self._oldest_kept = now
        self._kept.append(transaction)
        url = transaction.order.url
        last = len(transaction.fetches) - 1
        for number, fetch in enumerate(transaction.fetches):
            self._spool.append(parcel_of(fetch, url, followed=number < last))
            if number < last:
                url = transaction.fetches[number + 1].visit.url
        transaction.fetches.clear()
        transaction.ends_at = self._spool.appended

    def _keep(self, now: float, *, busy: bool) -> None:
        """Make results durable, many with one sync, and only then say DONE (S0.12, S0.24)."""
        if not self._kept or not self._worth_syncing(now, busy=busy):
            return
        try:
            self._spool.sync()
        except StorageError as error:
            if self._disk_retry_at is None:
                text = f"{error}; finished orders are not reported as done until it is kept"
                self._notes.say("the disk", text)
            self._disk_retry_at = now + _DISK_RETRY_SECONDS
        else:
            if self._disk_retry_at is not None:
                self._disk_retry_at = None
                self._notes.say("the disk", f"the spool {self._spool.folder} can be written again")
        self._report_kept()

    def _report_kept(self) -> None:
        """Say DONE for all orders whose results are durable: a disk may have taken only a part."""
        count = bisect_right(self._kept, self._spool.synced, key=attrgetter("ends_at"))
        kept, self._kept = self._kept[:count], self._kept[count:]
        for transaction in kept:
            if not transaction.is_over:
                transaction.link.say(done_line(transaction.order.trans_id))
                self._end(transaction)

    def _worth_syncing(self, now: float, *, busy: bool) -> bool:
        if self._disk_retry_at is not None:
            return now >= self._disk_retry_at
        return (
            not busy or len(self._kept) >= _SYNC_RESULTS or now - self._oldest_kept >= _SYNC_SECONDS
        )

    def _drop(self, transactions: list[Transaction], now: float) -> None:
        """End orders that nobody waits for, and all that is under way for them."""
        tickets = {transaction.ticket for transaction in transactions}
        self._spider.cancel(tickets)
        self._hops.drop(tickets)
        for transaction in transactions:
            self._end(transaction)
        # What they were to ask a robots.txt, others may want to know as well.
        for orphan in self._those(self._robots.drop(tickets)):
            self._go_on(orphan, now)

    def _end(self, transaction: Transaction) -> None:
        self._transactions.end(transaction)
        open_orders = transaction.link.open
        if open_orders.get(transaction.order.trans_id) is transaction:
            del open_orders[transaction.order.trans_id]

    # The loop and its end

    def _wait_seconds(self, now: float) -> float:
        """Return how long the loop may wait if nothing happens."""
        if (self._kept and self._disk_retry_at is None) or any(map(_is_closed, self._links)):
            return 0.0
        if self._stop_at is not None and self._linger_until is None and not self._transactions:
            return 0.0
        times = [
            now + _IDLE_SECONDS,
            self._store.next_at(now),
            self._transactions.next_at(),
            self._hops.next_at(),
            self._disk_retry_at,
            self._stop_at,
            self._linger_until if self._links else None,
            self._accept_at,
        ]
        return max(min(each for each in times if each is not None) - now, 0.0)

    def _is_wound_up(self, now: float, stop_at: float) -> bool:
        """Bring everything to its end; whether it is reached."""
        is_late = now >= stop_at
        if self._transactions and not is_late:
            return False
        if self._linger_until is None:
            self._linger_until = min(now + _LINGER_SECONDS, max(stop_at, now))
            self._spider.cancel()
            for link in self._links:
                for transaction in list(link.open.values()):
                    self._end(transaction)
        for link in self._links:
            if now >= self._linger_until:
                link.close("the Spider ends")
            elif link.is_flushed:
                link.end()
        has_results = self._store.is_connected and not self._spool.is_empty and not is_late
        return not (has_results or any(not link.closed for link in self._links))

    def _close_listener(self) -> None:
        if self._listener is not None:
            self._spider.unwatch(self._listener.fileno())
            self._listener.close()
            self._listener = None


def _is_closed(link: Link) -> bool:
    return link.closed
