"""The coordinator: one loop that moves URLs around the ring.

Theory of operation. Each turn of the loop
  1. collects what the catalog's writer has finished,
  2. sends out the orders that politeness allows and credit covers,
  3. has host names resolved and robots.txt fetched for hosts that need it,
  4. asks the catalog for more URLs when a queue runs empty (`supply.py`),
  5. hands findings to the writer, one transaction at a time,
  6. unless the crawl is at its end (`finish.py`), waits for sockets, and takes in what workers, DNS
     and robots.txt fetches say; what went wrong with workers is for `mishaps.py`.
Invariants: a URL is leased in the catalog before it enters the URL server; an order is in the
ledger from dispatch until its findings are committed, released or given up; nothing is forgotten
in between. Only this thread touches the URL server, the ledger and the crew; only the writer's
thread touches the catalog.

The URL server as a daemon runs this very loop, with Spiders at the other end of wires as its crew.
What they fetch reaches the catalog by way of the store server: `deliveries.py` has what differs.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from gossamer.catalog.catalog import Catalog, Committed, Counts, HostClock, Verdict
from gossamer.crawl.deliveries import Deliveries
from gossamer.crawl.finish import Finish
from gossamer.crawl.keeper import next_try_at
from gossamer.crawl.link import Tag
from gossamer.crawl.mishaps import Mishaps
from gossamer.crawl.parts import Parts
from gossamer.crawl.progress import Progress, Rate, memory_of, progress_of
from gossamer.crawl.recall import end_run, stored_clocks
from gossamer.crawl.stops import Stop
from gossamer.crawl.supply import Supply
from gossamer.messages import Found, Kind, Visit
from gossamer.outcomes import HOST_TO_BLAME, Outcome, State
from gossamer.url.address import port_refusal
from gossamer.url.parts import host_of, md5_of, port_of
from gossamer.urlserver.urlserver import FetchRobots, Rest
from gossamer.wording import count_in_words, seconds_in_words

_TICK_SECONDS: Final = 0.25
_LONG_REST_SECONDS: Final = 10.0
_DRY_SECONDS: Final = 2.0
_GRACE_SECONDS: Final = 3.0
_SHORT_QUEUE: Final = 4
"""So many times what may be open is fetched in about the time that a transaction takes."""


class Coordinator:
    """Runs one crawl to its end."""

    def __init__(
        self,
        parts: Parts,
        on_progress: Callable[[Progress], None] | None = None,
        on_pages: Callable[[Sequence[int]], bool] | None = None,
        *,
        before_end: Callable[[Catalog], int] | None = None,
        deliveries: Deliveries | None = None,
        until_idle: bool = True,
        lull_seconds: float | None = None,
        look_seconds: float = 3_600.0,
        grace_seconds: float = _GRACE_SECONDS,
    ) -> None:
        """Take the parts, and how the crawl ends.

        `until_idle`: when nothing is left to do; with `lull_seconds`: already when nothing is due
        for so long. `look_seconds`: the longest pause between two looks for what is due.
        """
        self._settings = parts.settings
        self._concurrency = parts.settings.crawl.concurrency
        self._clock = parts.clock
        self._spider = parts.spider
        self._names = parts.names
        self._urlserver = parts.urlserver
        self._robots = parts.robots
        self._crew = parts.crew
        self._writer = parts.writer
        self._ledger = parts.ledger
        self._stops = parts.stops
        self._ahead = parts.ahead
        self._on_progress = on_progress
        self._on_pages = on_pages
        self._has_room = True
        self._keeping_rules = False
        self._rate = Rate()
        self._next_tick = 0.0
        self._heard_at = 0.0
        """All that workers had said before this has been heard."""
        self._keeper = parts.keeper
        self._keeper.on_committed = self._committed
        self._grace_seconds = grace_seconds
        self._supply = Supply(parts, look_seconds, shared=deliveries is not None)
        self._supply.before_asking = self._commit_what_waits
        self._mishaps = Mishaps(parts, self._supply)
        self._finish = Finish(
            parts,
            self._supply,
            before_end=before_end,
            until_idle=until_idle,
            lull_seconds=lull_seconds,
        )
        self._deliveries = deliveries
        if deliveries is not None:
            deliveries.on_due = self._supply.more_at

    # ---------------------------------------------------------------- the loop

    def run(self) -> Stop:
        """Crawl until nothing is left, a limit is reached or somebody stops it."""
        self._supply.more_now()
        while True:
            stop = self._turn()
            if stop is not None:
                self._wind_down(stop)
                return stop

    def _turn(self) -> Stop | None:
        self._writer.collect()
        # After that: what was just offered may be ordered at once.
        now = self._clock.monotonic()
        if self._stops.error is not None:
            raise self._stops.error
        if self._deliveries is not None:
            self._deliveries.look(now)
        if not self._keeper.paused:
            # What a Spider announces while we are held up, between listening and here, is heard
            # too late: so its hosts are ordered from by the time at which we listened.
            self._order(now if self._deliveries is None else self._heard_at)
            self._prepare(now)
            self._supply.ask(now)
        self._commit_if_worth(now)
        if now >= self._next_tick:
            self._tick(now)
        stop = self._finish.reason_to_stop(now)
        if stop is None:
            self._wait_and_listen(self._wait_seconds(now))
        return stop

    def _wait_seconds(self, now: float) -> float:
        moments = [self._next_tick, self._keeper.commit_at(), self._crew.wake_at()]
        if self._deliveries is not None:
            moments += [self._deliveries.mark_at(), self._deliveries.look_at()]
        if not self._keeper.paused and self._has_room and self._ledger.credit():
            moments.append(self._urlserver.wake_at(now))
            if now < self._supply.dry_until:
                moments.append(self._supply.dry_until)
        return max(0.0, min([moment for moment in moments if moment is not None]) - now)

    def _wait_and_listen(self, seconds: float) -> None:
        self._heard_at = self._clock.monotonic()
        fetches = self._spider.poll(seconds)
        if fetches:
            now = self._clock.monotonic()
            for fetch in fetches:
                if fetch.visit.trans_id < 0:
                    self._robots.fetched(fetch, now)
            self._add_sitemaps()
            fetches = [fetch for fetch in fetches if fetch.visit.trans_id >= 0]
        self._ledger.errands = self._robots.out
        self._crew.step(fetches)
        for trans_id, sent_at in self._spider.started():
            self._urlserver.started(trans_id, sent_at)
        now = self._clock.monotonic()
        for worker, tag, payload in self._crew.messages():
            self._hear(worker, tag, payload, now)
        for worker, doc_id in self._crew.died():
            self._mishaps.bury(worker, doc_id, now)
        for host, resolution in self._names.answers():
            self._urlserver.resolved(host, resolution, now)

    # ------------------------------------------------- urlserver -> spider (orders)

    def _prepare(self, now: float) -> None:
        for need in self._urlserver.needs(now):
            if isinstance(need, FetchRobots):
                self._robots.ask(need)
            else:
                self._names.ask(need.host, again=need.again)
        self._ledger.errands = self._robots.out
        for due, outcome, detail, retry_after in self._urlserver.verdicts(now):
            self._keeper.conclude(due, outcome, detail, retry_after)
        for due, seconds in self._urlserver.returned(now):
            self._mishaps.release([due.doc_id], self._clock.time() + seconds if seconds else 0.0)

    def _order(self, now: float) -> None:
        workers = self._crew.ready()
        self._has_room = bool(workers) and (self._on_pages is None or self._on_pages(()))
        if not self._has_room:
            return
        room = dict(zip(workers, map(self._crew.room, workers), strict=True))
        visits = self._urlserver.orders(now, min(self._ledger.credit(), sum(room.values())))
        if self._ahead:
            visits += self._urlserver.ahead(now, self._ledger.credit(self._ahead) - len(visits))
        if not visits:
            return
        load = dict(zip(workers, map(self._ledger.load, workers), strict=True))
        per_worker: dict[int, list[Visit]] = {}
        # Who is to have no more open than his share is given no more than that.
        uneven = 0 if self._ahead else self._concurrency // (2 * len(workers))
        address, home = "", workers[0]
        for visit in visits:
            if visit.address != address:
                address = visit.address
                home = workers[hash(address) % len(workers)]
            worker = self._choose(home, load, uneven, address)
            load[worker] += 1
            due = self._urlserver.due_of(visit.trans_id)
            self._ledger.ordered(
                visit.trans_id, due, worker, "" if self._deliveries is None else address
            )
            batch = per_worker.setdefault(worker, [])
            batch.append(visit)
            if len(batch) == room[worker]:
                del load[worker]
        if self._deliveries is not None:
            self._deliveries.ordered(visits, now)
        for worker in workers:
            if worker in per_worker:
                self._crew.dispatch(worker, per_worker[worker])

    def _choose(self, home: int, load: dict[int, int], uneven: int, address: str) -> int:
        """Keep a host with one worker, whose connections to it are open, unless it is too busy."""
        if self._deliveries is not None:
            # Spiders follow redirects by themselves: two at one host would not know of each other.
            holder = self._ledger.holder_of(address)
            if holder in load:
                return holder
        if home in load and load[home] < min(load.values()) + uneven:
            return home
        return min(load, key=load.__getitem__)

    # -------------------------------------------------- spider -> catalog (findings)

    def _hear(self, worker: int, tag: Tag, payload: Any, now: float) -> None:
        del worker
        if tag is Tag.REPORT:
            self._urlserver.all_done(payload.done, now)
            self._keeper.take(payload.findings, now)
            if self._ahead and any(done.outcome in HOST_TO_BLAME for done in payload.done):
                self._crew.recall()
        elif tag is Tag.UNSENT:
            for trans_id in payload:
                self._ledger.take_back(trans_id)
            self._urlserver.unsent(payload, now)
        elif tag is Tag.STARTED:
            for trans_id, sent_at in payload:
                self._urlserver.started(trans_id, sent_at)
        elif tag is Tag.WORKING:
            for trans_id in payload:
                self._urlserver.working(trans_id, now)
        elif tag is Tag.DELIVERED and self._deliveries is not None:
            self._deliveries.done(payload, now)
        elif tag is Tag.VOID:
            self._urlserver.all_done(payload.done, now)
            self._mishaps.void(payload)
        elif tag is Tag.CANCELLED:
            self._mishaps.give_back(self._ledger.by_document(payload))

    def _commit_if_worth(self, now: float) -> None:
        self._keeper.hungry = self._is_hungry()
        if self._keeper.wants_to_commit(now):
            self._commit_what_waits()
        if self._deliveries is not None and self._deliveries.wants_to_mark(now):
            self._deliveries.mark(self._clocks(now), self._robots.records())
        self._keep_rules(now)

    def _is_hungry(self) -> bool:
        """Whether there is nothing to order before more is committed, or soon will be."""
        if not self._urlserver.queued:
            return True
        return self._is_queue_short() and self._supply.is_all_taken

    def _is_queue_short(self) -> bool:
        return self._urlserver.queued <= _SHORT_QUEUE * self._concurrency

    def _keep_rules(self, now: float) -> None:
        """Have new robots.txt files stored at once, with the intervals that they ask for.

        After a crash nobody else would know of a Crawl-delay, and a request may be out by then.
        """
        if self._keeping_rules or self._keeper.paused or not self._robots.has_news:
            return
        self._keeping_rules = True
        clocks, robots, wall = self._clocks(now), self._robots.records(), self._clock.time()

        def then(committed: Committed) -> None:
            del committed
            self._keeping_rules = False

        self._keeper.write(lambda catalog: catalog.commit((), wall, clocks, (), robots), then)

    def _commit_what_waits(self) -> None:
        if self._keeper.may_commit:
            clocks = self._clocks(self._clock.monotonic())
            self._keeper.commit(clocks, self._robots.records())

    def _clocks(self, now: float) -> list[HostClock]:
        return stored_clocks(self._urlserver.host_clocks(now), self._clock.time())

    def _committed(self, verdicts: Sequence[Verdict], committed: Committed) -> None:
        self._supply.counted()
        if committed.new_urls:
            self._supply.more_now()
            if self._is_queue_short():
                self._urlserver.more_there()
        elif (again_at := next_try_at(verdicts)) is not None:
            self._supply.more_at(again_at)
        if self._on_pages is not None:
            pages = [each.findings for each in verdicts if each.findings.is_page]
            self._on_pages([page.doc_id for page in pages if page.pointer is not None])

    # ------------------------------------------------------------- now and then

    def _tick(self, now: float) -> None:
        self._next_tick = now + _TICK_SECONDS
        self._mishaps.withdraw_overdue(now)
        self._crew.overdue(now, self._settings.parse.cpu_seconds)
        self._keeper.watch_disk(now)
        if self._on_progress is not None:
            self._on_progress(self.progress())

    def progress(self) -> Progress:
        """Return a snapshot."""
        return progress_of(
            self._keeper.counts,
            rate=self._rate.note(self._clock.monotonic(), self._keeper.counts.pages),
            hosts=self._urlserver.stats().hosts,
            in_flight=min(self._ledger.in_flight, self._concurrency),
            memory=memory_of(self._crew.process_ids()),
            received=self._keeper.received_bytes,
            state=self._keeper.paused or self._waiting() or "running",
        )

    def _waiting(self) -> str:
        """Say for what nothing is done at the moment, if that takes long; empty: for nothing.

        The same words all the time: a display shows at once that they have changed.
        """
        if self._ledger.uncommitted or self._robots.busy or self._supply.asking:
            return ""
        now = self._clock.monotonic()
        rest = self._urlserver.rest(now)
        if rest is not None and max(rest.gap_seconds, rest.seconds) >= _LONG_REST_SECONDS:
            return f"waiting for {rest.host} ({_why(rest)})"
        left = self._keeper.counts.pending
        if left and self._urlserver.empty and self._supply.dry_until - now >= _DRY_SECONDS:
            return f"waiting until {count_in_words(left, 'URL')} may be tried again"
        return ""

    def _add_sitemaps(self) -> None:
        """Enter the sitemaps that robots.txt files name; only what they list must be in scope."""
        named, records = self._robots.sitemaps()
        if not named or not self._settings.crawl.sitemaps:
            self._robots.keep(records)
            return
        found = [self._sitemap(url) for url in set(named)]
        wall = self._clock.time()

        def then(new: list[int]) -> None:
            del new
            self._robots.keep(records)
            self._supply.more_now()

        self._keeper.write(lambda catalog: catalog.discover(found, wall), then)

    def _sitemap(self, url: str) -> Found:
        found = Found(url, md5_of(url), host_of(url), depth=0, kind=int(Kind.SITEMAP))
        if port_refusal(port_of(url), self._settings.spider.allowed_ports) is None:
            return found
        return replace(found, state=int(State.EXCLUDED), outcome=int(Outcome.POLICY_PORT))

    # ------------------------------------------------------------------ the end

    def _wind_down(self, stop: Stop) -> None:
        """Order nothing more; keep what was fetched, return the rest."""
        deadline = self._clock.monotonic() + (0.0 if stop.at_once else self._grace_seconds)
        if self._ahead:
            self._crew.recall()
        self._listen_until(deadline, lambda: self._ledger.in_flight == 0)
        self._crew.stop()
        self._listen_until(
            self._clock.monotonic() + _GRACE_SECONDS,
            lambda: not self._crew.running() and self._is_all_kept(),
        )
        self._crew.kill()
        for _, tag, payload in self._crew.messages():
            self._hear(0, tag, payload, self._clock.monotonic())
        # Requests of what is still out may have gone until now: their hosts' clocks are to show it.
        out = self._ledger.everything()
        self._urlserver.lost(out, self._clock.monotonic())
        for trans_id in out:
            self._ledger.take_back(trans_id)
        left = [due.doc_id for due in self._urlserver.drain()]
        self._mishaps.release(left)
        wall = self._clock.time()
        if not self._keeper.paused:
            self._commit_if_worth(self._clock.monotonic())
            clocks = self._clocks(self._clock.monotonic())
            robots = self._robots.records()
            self._writer.submit(lambda catalog: catalog.commit((), wall, clocks, (), robots))
            self._writer.submit(lambda catalog: end_run(catalog, self._clock))
        self._writer.submit(lambda catalog: catalog.counts(), self._count)
        self._listen_until(self._clock.monotonic() + 60.0, lambda: self._writer.idle)

    def _is_all_kept(self) -> bool:
        return self._keeper.idle and (self._deliveries is None or self._deliveries.idle)

    def _count(self, counts: Counts) -> None:
        self._keeper.counts = counts

    def _listen_until(self, deadline: float, finished: Callable[[], bool]) -> None:
        while True:
            # First, for the last thing to happen may be that the writer is done.
            self._writer.collect()
            now = self._clock.monotonic()
            if finished() or now >= deadline or self._stops.at_once:
                return
            self._commit_if_worth(now)
            self._wait_and_listen(0.02)


def _why(rest: Rest) -> str:
    """Say why a host is let alone."""
    if rest.failures:
        return f"after {count_in_words(rest.failures, 'failure')}"
    whose = "its Crawl-delay" if rest.crawl_delay else "delay"
    return f"{whose}: {seconds_in_words(rest.gap_seconds)}"
