"""The store server: what Spiders have fetched is kept, understood and entered in the catalog.

    Spiders ──results──► peers ──► lookup ──deposits──► crew: workers (store, parse, handlers)
       ▲                                                              │
       └──SAVED── deposits ◄── committed ◄── keeper ◄── findings ─────┘

Theory of operation. Each turn of the loop
  1. collects what the catalog's writer has finished,
  2. finds out which documents the results that arrived belong to,
  3. hands deposits to workers, as they have room,
  4. hands findings to the writer, one transaction at a time,
  5. waits for sockets, and takes in what Spiders and workers say,
  6. tells Spiders what is saved.
Invariants: a result is settled only when its document's transaction is durable, or when it is known
to be stale; until then its bytes are here or in the archive. A kill at any moment therefore costs
nothing but what Spiders send again. Only this thread touches peers, deposits, ledger and crew; only
the writer's thread writes to the catalog.
"""

import socket
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct

from gossamer.catalog.catalog import Catalog, Committed, Verdict
from gossamer.clock import Clock
from gossamer.config.settings import Settings
from gossamer.crawl.crew import LocalCrew, ProcessCrew
from gossamer.crawl.keeper import Keeper
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.link import Deposit, Tag
from gossamer.crawl.stops import Stops
from gossamer.crawl.writer import Writer
from gossamer.daemons.deposits import Arrival, Deposits
from gossamer.daemons.spider_notes import Notes
from gossamer.daemons.store_lookup import Hop, Lookup
from gossamer.daemons.store_peers import StorePeers
from gossamer.daemons.store_poll import Poll
from gossamer.messages import Due
from gossamer.outcomes import Outcome

_TICK_SECONDS: Final = 0.25
_STOP_SECONDS: Final = 5.0
_TELL_SECONDS: Final = 1.0
_SEND_AGAIN_SECONDS: Final = 0.002
_MAX_DEATHS: Final = 2
_MOST_SORTED: Final = 1_000
_MOST_BYTES_AT_ONCE: Final = 1 << 20
"""What a worker is handed in one message: more than its socket takes would only wait here."""
_UNSAVED_TIMES: Final = 4
"""How many results may be unsaved, as a multiple of `[crawl] concurrency`."""


class Parts(Struct, frozen=True):
    """What the store server is put together from."""

    settings: Settings
    clock: Clock
    poll: Poll
    listener: socket.socket
    secret: bytes | None
    lookup: Lookup
    crew: LocalCrew | ProcessCrew
    writer: Writer
    keeper: Keeper
    ledger: Ledger
    stops: Stops
    notes: Notes


class Tally(Struct):
    """What a store server has done."""

    results: int = 0
    """Received completely."""
    saved: int = 0
    """Committed, or dropped as stale."""
    stale: int = 0
    """Dropped: of documents that are not leased, or sent twice."""
    unsaved: int = 0
    """Left over at the end; their Spiders have to send them again."""


class StoreServer:
    """Runs until it is told to stop."""

    def __init__(self, parts: Parts) -> None:
        self._settings = parts.settings
        self._clock = parts.clock
        self._poll = parts.poll
        self._lookup = parts.lookup
        self._crew = parts.crew
        self._writer = parts.writer
        self._keeper = parts.keeper
        self._ledger = parts.ledger
        self._stops = parts.stops
        self._notes = parts.notes
        self._arrived: list[Arrival] = []
        self._adopting = 0
        """Results that wait until their URLs are known."""
        self._deposits = Deposits()
        self._peers = StorePeers(
            parts.listener,
            parts.secret,
            parts.settings,
            parts.poll,
            parts.clock,
            parts.notes,
            self._has_room,
            self._receive,
        )
        concurrency = parts.settings.crawl.concurrency
        self._most_unsaved = _UNSAVED_TIMES * concurrency
        self._most_at_work = max(1, concurrency)
        self._is_handing_out = True
        self._next_tick = 0.0
        self._paused = ""
        self.tally = Tally()
        self._keeper.on_committed = self._committed

    # ---------------------------------------------------------------- the loop

    def run(self) -> None:
        """Serve until somebody stops it."""
        while self._stops.requested is None:
            self._turn()
        self._wind_down()

    def _turn(self) -> None:
        now = self._clock.monotonic()
        self._writer.collect()
        if self._stops.error is not None:
            raise self._stops.error
        self._sort()
        if self._is_handing_out and not self._keeper.paused:
            self._hand_out()
        if self._keeper.wants_to_commit(now):
            self._keeper.commit((), ())
        self._peers.acknowledge()
        self._peers.greet(now)
        if now >= self._next_tick:
            self._tick(now)
        self._peers.admit()
        self._poll.wait(self._wait_seconds(now))
        self._listen_to_workers()

    def _has_room(self) -> bool:
        return (
            len(self._deposits) + len(self._arrived) + self._adopting < self._most_unsaved
            and self._deposits.bytes < self._settings.store.unsaved_bytes
        )

    def _wait_seconds(self, now: float) -> float:
        if self._arrived:
            return 0.0
        moments = (self._next_tick, self._keeper.commit_at(), self._peers.next_at())
        wait = min(moment for moment in moments if moment is not None) - now
        # No descriptor tells when a worker's socket takes more.
        unsent = any(map(self._crew.unsent_bytes, self._crew.ready()))
        return min(wait, _SEND_AGAIN_SECONDS) if unsent else wait

    def _tick(self, now: float) -> None:
        self._next_tick = now + _TICK_SECONDS
        self._crew.overdue(now, self._settings.parse.cpu_seconds)
        self._keeper.watch_disk(now)
        self._peers.tick(now)
        self._tell_pause()

    def _tell_pause(self) -> None:
        paused = self._keeper.paused
        if paused and not self._paused:
            text = f"{self._stops.pause_detail}; nothing is lost, saving goes on when there is room"
            self._notes.say("pauses", f"{paused}: {text}")
        elif self._paused and not paused:
            self._notes.say("pauses", "there is room again: saving goes on")
        self._paused = paused

    # ------------------------------------------------------- Spiders -> deposits

    def _receive(self, arrivals: list[Arrival]) -> None:
        self.tally.results += len(arrivals)
        self._arrived += arrivals

    def _sort(self) -> None:
        """Find out what has arrived is about."""
        if not self._arrived:
            return
        # A flood of tiny results must not keep all others waiting.
        arrivals, self._arrived = self._arrived[:_MOST_SORTED], self._arrived[_MOST_SORTED:]
        starts = self._lookup.new_start_urls()
        if starts is not None:
            self._crew.tell_start_urls(starts)
        found = self._lookup.sort(arrivals)
        self._drop(found.stale)
        for arrival, due in found.known:
            self._deposit(arrival, due)
        if found.hops:
            self._adopt(found.hops)

    def _adopt(self, hops: list[Hop]) -> None:
        """Have URLs that nobody ordered leased to the results that have come for them."""
        self._adopting += len(hops)
        wall = self._clock.time()

        def job(catalog: Catalog) -> list[Due | None]:
            ordered = [hop.ordered for hop in hops]
            return catalog.adopt([hop.found for hop in hops], ordered, wall)

        def then(dues: list[Due | None]) -> None:
            self._adopting -= len(hops)
            for hop, due in zip(hops, dues, strict=True):
                if due is None:
                    self._drop([hop.arrival])
                else:
                    self._deposit(hop.arrival, due)

        self._keeper.write(job, then)

    def _deposit(self, arrival: Arrival, due: Due) -> None:
        if not self._deposits.add(arrival, due):
            self.tally.stale += 1

    def _drop(self, arrivals: Sequence[Arrival]) -> None:
        for arrival in arrivals:
            arrival.settle()
        self.tally.stale += len(arrivals)
        self.tally.saved += len(arrivals)

    # ------------------------------------------------------- deposits -> catalog

    def _hand_out(self) -> None:
        """Give deposits to workers; who is still being handed some waits his turn."""
        workers = [each for each in self._crew.ready() if not self._crew.unsent_bytes(each)]
        load = {worker: self._ledger.load(worker) for worker in workers}
        parcels: dict[int, list[Deposit]] = {worker: [] for worker in workers}
        room = dict.fromkeys(workers, _MOST_BYTES_AT_ONCE)
        while load and self._deposits.waiting:
            worker = min(load, key=load.__getitem__)
            if load[worker] >= self._most_at_work or room[worker] <= 0:
                del load[worker]
                continue
            held = self._deposits.next()
            assert held is not None
            load[worker] += 1
            room[worker] -= held.size
            self._ledger.ordered(held.number, held.due, worker)
            parcels[worker].append(held.parcel())
        for worker, batch in parcels.items():
            if batch:
                self._crew.dispatch(worker, batch)

    def _listen_to_workers(self) -> None:
        self._crew.step(())
        for worker, tag, payload in self._crew.messages():
            self._hear(worker, tag, payload)
        for worker, doc_id in self._crew.died():
            self._bury(worker, doc_id)

    def _hear(self, worker: int, tag: Tag, payload: Any) -> None:
        del worker
        if tag is Tag.REPORT:
            self._deposits.reported(findings.doc_id for findings in payload.findings)
            self._keeper.take(payload.findings, self._clock.monotonic())
        elif tag is Tag.VOID:
            self._try_again(payload.doc_ids)
            self._keeper.pause("disk" if payload.disk_full else "archive", payload.detail)
        elif tag is Tag.CANCELLED:
            self._try_again(payload)

    def _committed(self, verdicts: Sequence[Verdict], committed: Committed) -> None:
        self.tally.stale += len(committed.stale)
        self.tally.saved += self._deposits.settle(each.findings.doc_id for each in verdicts)

    # ----------------------------------------------------------- what goes wrong

    def _try_again(self, doc_ids: Sequence[int]) -> None:
        for number in self._ledger.by_document(doc_ids):
            self._ledger.take_back(number)
        self._deposits.again(doc_ids)

    def _bury(self, worker: int, doc_id: int | None) -> None:
        """A worker died: others do its work; a document over which two died is set aside."""
        lost = [due.doc_id for due in self._ledger.of_worker(worker).values()]
        is_suspect = doc_id in lost
        if doc_id is not None and is_suspect and self._deposits.died(doc_id) >= _MAX_DEATHS:
            lost.remove(doc_id)
            self._set_aside(doc_id)
        self._try_again(lost)
        if not self._is_handing_out:
            return
        what = f" over document {doc_id}" if is_suspect else ""
        self._notes.say("workers", f"a worker has ended{what}; another takes its place")

    def _set_aside(self, doc_id: int) -> None:
        due = self._deposits.due_of(doc_id)
        assert due is not None
        for number in self._ledger.by_document([doc_id]):
            self._ledger.take_back(number)
        detail = f"ended {_MAX_DEATHS} workers while being parsed"
        self._keeper.conclude(due, Outcome.PARSE_BUDGET, detail)

    # ------------------------------------------------------------------ the end

    def _wind_down(self) -> None:
        """Save what was received, tell it, and end."""
        self._peers.begin_to_end()
        deadline = self._clock.monotonic() + self._settings.store.grace_seconds
        self._go_on_until(deadline, lambda: not self._peers.has_more() and self._is_empty())
        self._is_handing_out = False
        self._crew.stop()
        deadline = self._clock.monotonic() + _STOP_SECONDS
        self._go_on_until(deadline, lambda: not self._crew.running())
        self._crew.kill()
        deadline = self._clock.monotonic() + _TELL_SECONDS
        self._go_on_until(deadline, lambda: self._keeper.idle and not self._peers.is_telling())
        self._peers.close()
        self.tally.unsaved = self.tally.results - self.tally.saved

    def _is_empty(self) -> bool:
        return not (self._arrived or self._adopting or len(self._deposits))

    def _go_on_until(self, deadline: float, finished: Callable[[], bool]) -> None:
        while not finished() and self._clock.monotonic() < deadline and not self._stops.at_once:
            self._turn()
