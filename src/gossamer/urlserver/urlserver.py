"""The URL server: which URL goes to a spider next, and when (S1).

Theory of operation. A URL that is offered enters the queue of its host. A host that has something
queued is resolved, then waits in the ready heap until host and address both may take a request.
When its turn comes (`turns.py`) orders are made of its URLs (`dispatch.py`), or its robots.txt is
sent for (`errands.py`). An order ends with DONE, or it is taken back (`withdrawals.py`). Nothing in
here waits or reads a clock: each call is told the time (monotonic seconds) and returns what is to
be done.

Call order in one turn of a loop: `offer`, `orders`, then `needs`, `verdicts` and `returned`, for
all three may grow while orders are made, and `wants`.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from gossamer.config.urlserver import UrlServerSettings
from gossamer.messages import NOT_SAID, Done, Due, Visit
from gossamer.outcomes import Outcome
from gossamer.url.parts import host_of
from gossamer.urlserver.dispatch import Dispatch
from gossamer.urlserver.errands import Engine, Errands
from gossamer.urlserver.exits import Exits
from gossamer.urlserver.host import Address, Host, Order, Slot
from gossamer.urlserver.hosts import HostTable
from gossamer.urlserver.names import NameDesk
from gossamer.urlserver.pace import pace_of
from gossamer.urlserver.ready import Ready
from gossamer.urlserver.refill import Refills
from gossamer.urlserver.requests import (
    Ended,
    FetchRobots,
    HostClock,
    Learned,
    Overdue,
    Refill,
    Resolve,
    Rest,
    Returned,
    Stats,
)
from gossamer.urlserver.resolution import Resolution
from gossamer.urlserver.robots import RobotsAnswer, RobotsRules, RobotsState
from gossamer.urlserver.rulebook import Rulebook
from gossamer.urlserver.slots import SlotTable
from gossamer.urlserver.trouble import Ending, Troubles, blames_host
from gossamer.urlserver.turns import Turns
from gossamer.urlserver.withdrawals import Withdrawals

__all__ = [
    "Ended",
    "FetchRobots",
    "HostClock",
    "Learned",
    "Overdue",
    "Refill",
    "Resolution",
    "Resolve",
    "Rest",
    "Returned",
    "RobotsAnswer",
    "RobotsRules",
    "RobotsState",
    "Stats",
    "UrlServer",
]

# A host in trouble that is held longer than this gives its queue to others.
_HOLD_SECONDS: Final = 60.0
_OK: Final = int(Outcome.OK)


class UrlServer:
    """The scheduling engine; see the module's theory of operation."""

    def __init__(self, settings: UrlServerSettings, *, robots_agent: str) -> None:
        self._settings = settings
        self._pace = pace_of(settings)
        self._address_gap = self._pace.address_gap
        self._table = SlotTable(settings)
        self._hosts = HostTable(self._pace)
        self._ready = Ready(self._pace.address_limit)
        self._refills = Refills(settings, self._table)
        self._names = NameDesk(settings)
        self._rulebook = Rulebook(settings, robots_agent, self._pace, self._hosts)
        self._exits = Exits(self._table)
        self._troubles = Troubles(
            self._pace, self._hosts, self._exits, self._shrunk, self._names.look_again
        )
        self._live: OrderedDict[int, Order] = OrderedDict()
        engine = Engine(
            self._consider, self._shrunk, self._troubles.judge_errand, self._ready.renew
        )
        self._errands = Errands(
            settings,
            self._rulebook,
            self._hosts,
            self._exits,
            self._live,
            self._address_gap,
            engine,
        )
        self._dispatch = Dispatch(
            self._pace,
            self._table,
            self._hosts,
            self._exits,
            self._errands,
            self._live,
            self._shrunk,
        )
        self._turns = Turns(self._ready, self._dispatch, self._table, self._live, self._consider)
        self._withdrawals = Withdrawals(
            settings,
            self._address_gap,
            self._table,
            self._hosts,
            self._errands,
            self._live,
            engine,
        )
        self._leftover_limit = settings.queue_count * settings.queue_len
        self._stale = 0

    # ------------------------------------------------------------------ URLs come in

    def offer(self, batch: Sequence[Due], now: float) -> None:
        """Take URLs, each leased from the catalog; also call it with an empty batch."""
        taken: dict[Host, int] = {}
        host: Host | None = None
        for due in batch:
            if self._table.leftover >= self._leftover_limit:
                self._exits.returned.append(Returned(due, 0.0))
                continue
            if host is None or due.host != host.name:
                host = self._hosts.get(due.host)
            if due.manner is not None and due.manner.delay_ms / 1000.0 != host.wanted_gap:
                host.wanted_gap = due.manner.delay_ms / 1000.0
                host.set_pace(self._pace)
            self._table.add(host, due)
            taken[host] = taken.get(host, 0) + 1
        for host, urls in taken.items():
            self._refills.note(host, urls)
        self._refills.answered(len(batch), now)
        for host in taken:
            self._consider(host, now)

    def wants(self, now: float, *, saturated: bool = False) -> Refill | None:
        """Return a request for more when a queue is empty and no leftover can fill it (S1.25).

        `saturated`: no more orders could go out now, so that only a queue that runs low is urgent.
        """
        return self._refills.next(now, saturated=saturated)

    def more_there(self) -> None:
        """Take note that there is more than when URLs were last asked for."""
        self._refills.more_there()

    def held(self, now: float) -> Mapping[str, float]:
        """Return the hosts of which nothing is wanted for long, and until when of each."""
        return self._refills.held(now)

    # ------------------------------------------------------------------ orders go out

    def orders(self, now: float, limit: int) -> list[Visit]:
        """Return what may be sent now; each robots.txt to fetch counts as one of `limit`."""
        if self._names.is_due(now):
            for host in self._names.due(now):
                self._consider(host, now)
        return self._turns.take(now, limit)

    def ahead(self, now: float, most: int) -> list[Visit]:
        """Return orders ahead of their time, if there is one host and all is well with it.

        They are for who sends each of them only when another order of his to that host has ended,
        and gives back (`unsent`) those that he still has when one ends badly.
        """
        host = self._table.only_host() if most > 0 else None
        if (
            host is None
            or host.address is None
            or host.strikes
            or host.failed_addresses
            or host.next_at > now
            or now >= host.fresh_until
        ):
            return []
        visits: list[Visit] = []
        self._dispatch.serve_alike(host, host.address, now, most, visits)
        return visits

    def due_of(self, trans_id: int) -> Due:
        """Return what an order that is out is about."""
        due = self._live[trans_id].due
        assert due is not None
        return due

    # ------------------------------------------------------------------ spiders report

    def started(self, trans_id: int, sent_at: float) -> None:
        """Take note that a request is on the wire since `sent_at`: gaps are counted from there.

        Told again for the same order, it is one more request: a redirect followed in place.
        """
        order = self._live.get(trans_id)
        if order is None:
            self._stale += 1
        elif order.report_start:
            if order.host_waits:
                self._hosts.changed(order.host)
            order.is_sent(sent_at, self._address_gap)
            self._consider(order.host, order.dispatched_at)
            self._ready.renew(order.address)
        else:
            order.asks_again(sent_at, self._address_gap)
            self._hosts.changed(order.host)

    def working(self, trans_id: int, now: float) -> None:
        """Take note that a fetch needs more time (S1.32)."""
        order = self._live.get(trans_id)
        if order is None:
            self._stale += 1
            return
        order.heard_at = now
        self._live.move_to_end(trans_id)

    def done(self, done: Done, now: float) -> Due | None:
        """Free the active slot (S1.36); return its URL, None for an id of an older generation."""
        order = self._end(done, now)
        if order is None:
            return None
        self._settle(order.host, order.address, now)
        return order.due

    def all_done(self, batch: Iterable[Done], now: float) -> None:
        """Free the active slots of many orders; what follows for a host is seen to once."""
        places: dict[tuple[Host, Address], None] = {}
        for done in batch:
            order = self._end(done, now)
            if order is not None:
                places[order.host, order.address] = None
        for host, address in places:
            self._settle(host, address, now)

    def _end(self, done: Done, now: float) -> Order | None:
        """Take an order out of the Active range, and let its outcome count; `_settle` follows."""
        order = self._live.get(done.trans_id)
        if order is None or order.due is None:
            self._stale += 1
            return None
        del self._live[done.trans_id]
        due, host, slot = order.due, order.host, order.host.slot
        assert slot is not None
        order.ends(min(done.sent_at, now), self._address_gap)
        slot.free.append(order.position)
        slot.used -= 1
        if self._withdrawals.attempts:
            self._withdrawals.attempts.pop(due.doc_id, None)
        is_telling = done.outcome != _OK or host.strikes or host.failed_addresses
        if is_telling and done.outcome != NOT_SAID:
            self._troubles.judge_order(order, due.url[: due.url.find("/", 8)], done, now)
        return order

    def _settle(self, host: Host, address: Address, now: float) -> None:
        """Put a host and an address where they belong after orders of theirs have ended."""
        self._shrunk(host.slot, now)
        self._consider(host, now)
        self._ready.renew(address)

    def learned(self, ending: Learned, now: float) -> None:
        """Let an outcome count that became known after its DONE (A17)."""
        host = self._hosts.find(ending.host)
        is_well = host is None or not (host.strikes or host.failed_addresses)
        if is_well and not blames_host(ending.outcome):
            return
        if host is None:
            host = self._hosts.get(ending.host)
        there = host.address is not None and host.address.name == ending.address
        self._troubles.judge(
            Ending(
                host,
                host.address if there else None,
                ending.dispatched_at,
                # What has gone out since is not known here: a host that recovers is paced from now.
                now,
                ending.outcome,
                ending.retry_after_seconds,
                ending.authority,
            ),
            now,
        )
        self._consider(host, now)
        if host.address is not None:
            self._ready.renew(host.address)
        self._hosts.rest(host, now)

    # ------------------------------------------------------------------ orders are taken back

    def overdue(self, now: float) -> list[Overdue]:
        """Take back orders without a word for too long; they are queued again, but not for ever."""
        return self._withdrawals.overdue(now)

    def lost(self, trans_ids: Collection[int], now: float) -> list[Due]:
        """Queue the orders of a spider that died again, at the head of their queues (S1.38)."""
        return self._withdrawals.lost(trans_ids, now)

    def unsent(self, trans_ids: Sequence[int], now: float) -> None:
        """Queue orders again whose requests surely never went out, in their old order."""
        self._withdrawals.unsent(trans_ids, now)

    def forget(self, trans_ids: Iterable[int], now: float) -> list[Due]:
        """Drop orders: the caller takes their URLs over."""
        return self._withdrawals.forget(trans_ids, now)

    # ------------------------------------------------------------------ names

    def needs(self, now: float) -> list[Resolve | FetchRobots]:
        """Return what must be done before URLs that wait can become orders, each thing once."""
        if self._names.is_due(now):
            for host in self._names.due(now):
                self._consider(host, now)
        return [*self._names.questions(), *self._errands.take()]

    def resolved(self, name: str, resolution: Resolution, now: float) -> None:
        """Take the answer to a Resolve."""
        host = self._hosts.find(name)
        if host is None:
            return
        again = self._names.answered(host, resolution, now)
        for other in again:
            self._consider(other, now)
            self._hosts.rest(other, now)
        if host.no_name is None and host.addresses:
            current = host.address.name if host.address else ""
            keep = current if current in host.addresses else host.addresses[0]
            self._hosts.locate(host, keep)
            self._hold_address(host, now)
            self._refills.located(host)
        self._consider(host, now)
        self._hosts.rest(host, now)

    def _hold_address(self, host: Host, now: float) -> None:
        """Let a clock restored for a host count for its address too."""
        if host.next_at > now and host.address is not None and self._address_gap:
            moment = min(host.next_at, now + self._address_gap)
            host.address.next_at = max(host.address.next_at, moment)

    # ------------------------------------------------------------------ robots.txt

    def robots_answer(self, name: str, answer: RobotsAnswer, now: float) -> RobotsRules | None:
        """Take the answer to a FetchRobots; return the rules that count now, None for a next hop.

        `name` is the authority of the FetchRobots.
        """
        authority = self._rulebook.find(name)
        if authority is None or authority.order is None:
            self._stale += 1
            return None
        return self._errands.answered(authority, authority.order, answer, now)

    def restore_robots(
        self,
        name: str,
        answer: RobotsAnswer,
        *,
        age_seconds: float,
        now: float,
        unreachable_seconds: float | None = None,
    ) -> None:
        """Take over a robots.txt that was fetched before a restart, as old as it is."""
        host = self._hosts.get(host_of(name))
        authority = self._rulebook.open(name, host)
        if authority.rules is None:
            since = None if unreachable_seconds is None else now - unreachable_seconds
            self._rulebook.recall(authority, answer, now - age_seconds, since)
        self._hosts.rest(host, now)

    # ------------------------------------------------------------------ what ends or goes back

    def verdicts(self, now: float) -> list[Ended]:
        """Return the URLs that ended here since the last call."""
        del now
        return self._exits.take_ended()

    def returned(self, now: float) -> list[Returned]:
        """Return the URLs handed back untried since the last call, each still leased."""
        del now
        return self._exits.take_returned()

    def forgive(self) -> None:
        """Forget which authorities are taken for dead: their URLs are to be tried after all.

        What their hosts have to wait stays as it is, and the next failure buries them again.
        """
        for host in self._hosts.all():
            host.dead.clear()

    def drain(self) -> list[Due]:
        """Give back every URL that is not out; call `verdicts` for those that ended."""
        given = [due for due, _ in self._exits.take_returned()]
        given += self._table.drain()
        for host in self._hosts.all():
            host.errands.clear()
            host.ticket = 0
            if host.awaiting is not None and host.awaiting.order is None:
                host.awaiting = None
        return given

    def _hand_back(self, host: Host, now: float) -> None:
        """Give the queue of a host that is held for long to others."""
        self._errands.fail(host, host.parked or Outcome.NET_UNREACHABLE, "the host is held", now)
        self._exits.hand_back(host, host.next_at - now)
        self._refills.hold(host)
        self._shrunk(host.slot, now)

    # ------------------------------------------------------------------ hosts

    def _consider(self, host: Host, now: float) -> None:
        """Put a host that could send something in the ready heap, or ask for what it lacks."""
        if host.ticket or host.unstarted or host.open >= host.limit:
            return
        slot = host.slot
        if not host.errands and (slot is None or not slot.pending or host.awaiting is not None):
            return
        if host.strikes and host.next_at - now > _HOLD_SECONDS:
            self._hand_back(host, now)
            return
        if now >= host.fresh_until or host.address is None:
            self._ask_name(host, now)
            return
        self._ready.put(host, host.address, max(host.next_at, now))

    def _ask_name(self, host: Host, now: float) -> None:
        """Have a host resolved; a name that does not exist ends what is queued for it."""
        failure = self._names.ask(host, now)
        if failure is None or failure.outcome is None:
            return
        self._errands.fail(host, failure.outcome, failure.detail, now)
        self._exits.end_queued(host, failure.outcome, failure.detail)
        self._shrunk(host.slot, now)

    def _shrunk(self, slot: Slot | None, now: float) -> None:
        """Let leftovers move up after URLs left a queue."""
        if slot is None:
            return
        host = slot.host
        newcomer = self._table.shrunk(slot)
        if newcomer is not None:
            self._consider(newcomer, now)
        if host is not None and host.slot is None:
            self._hosts.rest(host, now)

    # ------------------------------------------------------------------ time

    def wake_at(self, now: float) -> float | None:
        """Return when a call could next give something; None when only answers can change that."""
        if self._errands.to_fetch or self._exits or self._names.has_questions:
            return now
        moments = (self._ready.next_at(), self._names.next_at(), self._withdrawals.next_at())
        return min([moment for moment in moments if moment is not None], default=None)

    @property
    def usual_gap(self) -> float:
        """How long a request may have to wait by the settings alone."""
        return max(self._pace.host_gap, self._pace.address_gap)

    def longest_gap(self) -> float:
        """Return how long one may have to wait though nothing is wrong, Crawl-delay included."""
        return max(self.usual_gap, self._hosts.longest_gap())

    def rest(self, now: float) -> Rest | None:
        """Return the host that everything waits for; None if one could be asked, or none waits."""
        host = self._ready.first()
        if host is None or host.next_at <= now:
            return None
        is_wish = not host.strikes and host.crawl_delay >= host.gap > self._pace.host_gap
        return Rest(host.name, host.next_at - now, host.gap, is_wish, host.strikes)

    def host_clocks(self, now: float) -> list[HostClock]:
        """Return the clocks that changed since the last call: store them with the next commit."""
        return self._hosts.clocks(now)

    def restore(
        self,
        name: str,
        now: float,
        *,
        next_allowed_seconds: float,
        strikes: int = 0,
        parked: Outcome | None = None,
        address: str = "",
    ) -> None:
        """Take over a host's clock from before a restart, no longer than the longest hold."""
        host = self._hosts.get(name)
        wait = min(max(next_allowed_seconds, 0.0), self._pace.max_back_off + self._pace.host_gap)
        host.hold_until(now + wait)
        if strikes > 0 and host.struck_at == float("-inf"):
            host.strikes = strikes
            host.struck_at = now
            host.parked = parked
            host.set_pace(self._pace)
        if address and wait and self._address_gap:
            place = self._hosts.address(address)
            place.next_at = max(place.next_at, now + min(wait, self._address_gap))
        self._hosts.rest(host, now)

    @property
    def queued(self) -> int:
        """How many URLs wait for their turn."""
        return self._table.queued + self._table.leftover

    @property
    def empty(self) -> bool:
        """Whether no URL is in here: none queued, out, ended or handed back."""
        return not (self._live or self._table.queued or self._table.leftover or self._exits)

    def stats(self) -> Stats:
        """Return numbers for people."""
        free = self._table.free_count
        return Stats(
            hosts=len(self._hosts),
            addresses=self._hosts.address_count,
            slots_used=self._settings.queue_count - free,
            slots_free=free,
            queued=self._table.queued,
            leftover=self._table.leftover,
            in_flight=len(self._live),
            ready=len(self._ready),
            stale=self._stale,
            resolver_silent_seconds=self._names.silent_seconds,
        )
