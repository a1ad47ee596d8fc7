"""The coordinator: one loop that moves URLs around the ring.

Theory of operation. Each turn of the loop
  1. collects what the catalog's writer has finished,
  2. asks the catalog for more URLs when a queue runs empty (S1.25),
  3. has host names resolved and robots.txt fetched for hosts that need it,
  4. sends out the orders that politeness allows and credit covers,
  5. hands findings to the writer, one transaction at a time,
  6. waits for sockets, and takes in what workers, DNS and robots.txt fetches say.
Invariants: a URL is leased in the catalog before it enters the URL server; an order is in the
ledger from dispatch until its findings are committed, released or given up; nothing is forgotten
in between. Only this thread touches the URL server, the ledger and the crew; only the writer's
thread touches the catalog.

The URL server as a daemon runs this very loop, with Spiders at the other end of wires as its crew.
What they fetch reaches the catalog by way of the store server: `deliveries.py` has what differs.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog.catalog import Catalog, Committed, Counts, HostClock, Verdict
from gossamer.clock import Clock
from gossamer.config.settings import Settings
from gossamer.crawl.crew import Crew
from gossamer.crawl.deliveries import Deliveries
from gossamer.crawl.keeper import Keeper, next_try_at
from gossamer.crawl.ledger import Ledger
from gossamer.crawl.link import Tag, Void
from gossamer.crawl.names import Names
from gossamer.crawl.progress import Progress, Rate, memory_of, progress_of
from gossamer.crawl.recall import Recall, Recalled, stored_clocks
from gossamer.crawl.robots import RobotsDesk
from gossamer.crawl.seeds import seeds_of
from gossamer.crawl.stops import Stop, Stops
from gossamer.crawl.writer import Writer
from gossamer.messages import Done, Due, Found, Kind, Visit
from gossamer.outcomes import RULES, Outcome, State
from gossamer.spider.spider import Spider
from gossamer.url.address import port_refusal
from gossamer.url.canonical import canonicalize
from gossamer.url.parts import host_of, md5_of, port_of
from gossamer.urlserver.urlserver import FetchRobots, UrlServer

_TICK_SECONDS: Final = 0.25
_GRACE_SECONDS: Final = 3.0
_FULL_SECONDS: Final = 0.01
_SILENT_SECONDS: Final = 20.0
_MAX_DEATHS: Final = 2
_MAX_LEASE: Final = 2_000


class Parts(Struct, frozen=True):
    """What the coordinator is put together from; `pipeline.py` makes them."""

    settings: Settings
    clock: Clock
    spider: Spider
    names: Names
    urlserver: UrlServer
    robots: RobotsDesk
    crew: Crew
    writer: Writer
    keeper: Keeper
    recall: Recall
    ledger: Ledger
    stops: Stops


class Leased(NamedTuple):
    """What the catalog gave when it was asked for more URLs."""

    batch: list[Due]
    next_due_at: float | None
    recalled: Recalled
    seeds: list[str]
    """All start URLs, when some of them may be news to us."""


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
        self._clock = parts.clock
        self._spider = parts.spider
        self._names = parts.names
        self._urlserver = parts.urlserver
        self._robots = parts.robots
        self._crew = parts.crew
        self._writer = parts.writer
        self._recall = parts.recall
        self._ledger = parts.ledger
        self._stops = parts.stops
        self._on_progress = on_progress
        self._on_pages = on_pages
        self._has_room = True
        self._rate = Rate()
        self._refilling = False
        self._dry_until = 0.0
        self._next_tick = 0.0
        self._keeper = parts.keeper
        self._keeper.on_committed = self._committed
        self._before_end = before_end
        self._until_idle = until_idle
        self._lull_seconds = lull_seconds
        self._look_seconds = look_seconds
        self._grace_seconds = grace_seconds
        self._deliveries = deliveries
        if deliveries is not None:
            deliveries.on_due = self._due_at

    # ---------------------------------------------------------------- the loop

    def run(self) -> Stop:
        """Crawl until nothing is left, a limit is reached or somebody stops it."""
        self._dry_until = 0.0
        while True:
            stop = self._turn()
            if stop is not None:
                self._wind_down(stop)
                return stop

    def _turn(self) -> Stop | None:
        now = self._clock.monotonic()
        self._writer.collect()
        if self._stops.error is not None:
            raise self._stops.error
        if self._deliveries is not None:
            self._deliveries.look(now)
        if not self._keeper.paused:
            self._refill(now)
            self._order(now)
            self._prepare(now)
        self._commit_if_worth(now)
        if now >= self._next_tick:
            self._tick(now)
        stop = self._reason_to_stop(now)
        if stop is None:
            self._wait_and_listen(self._wait_seconds(now))
        return stop

    def _wait_and_listen(self, seconds: float) -> None:
        fetches = self._spider.poll(seconds)
        now = self._clock.monotonic()
        for fetch in fetches:
            if fetch.visit.trans_id < 0:
                self._robots.fetched(fetch, now)
        self._crew.step([fetch for fetch in fetches if fetch.visit.trans_id >= 0])
        for trans_id, sent_at in self._spider.started():
            self._urlserver.started(trans_id, sent_at)
        now = self._clock.monotonic()
        for worker, tag, payload in self._crew.messages():
            self._hear(worker, tag, payload, now)
        for worker, doc_id in self._crew.died():
            self._bury(worker, doc_id, now)
        for host, resolution in self._names.answers():
            self._urlserver.resolved(host, resolution, now)
        self._add_sitemaps()

    # ------------------------------------------------------- catalog -> urlserver

    def _refill(self, now: float) -> None:
        if self._refilling or now < self._dry_until or self._ledger.limit_reached:
            return
        refill = self._urlserver.wants(now)
        if refill is None:
            return
        self._refilling = True
        wall = self._clock.time()
        count = min(refill.count, _MAX_LEASE)
        named = self._names.named

        def lease(catalog: Catalog) -> Leased:
            batch = catalog.due(count, refill.per_host, wall, refill.reject_hosts)
            next_due_at = None if batch else catalog.next_due_at(wall)
            # While daemons run, people may add start URLs.
            seeds = (
                seeds_of(catalog)
                if self._deliveries is not None
                and any(due.depth == 0 and due.host not in named for due in batch)
                else []
            )
            return Leased(batch, next_due_at, self._recall.read(catalog, batch), seeds)

        self._keeper.write(lease, self._refilled)

    def _refilled(self, answer: Leased) -> None:
        batch, next_due_at, recalled, seeds = answer
        now = self._clock.monotonic()
        self._refilling = False
        self._ledger.held += len(batch)
        self._names.name(map(host_of, seeds))
        self._recall.apply(recalled, self._urlserver, self._robots, now)
        self._urlserver.offer(batch, now)
        if not batch:
            wait = 3_600.0 if next_due_at is None else next_due_at - self._clock.time()
            # Due now, and yet nothing came: the hosts with work were rejected because their
            # queues are full.
            self._dry_until = now + min(max(wait, _FULL_SECONDS), self._look_seconds)

    def _due_at(self, moment: float) -> None:
        """Ask the catalog again when something is due (wall time), and no later."""
        wait = max(0.0, moment - self._clock.time())
        self._dry_until = min(self._dry_until, self._clock.monotonic() + wait)

    # ------------------------------------------------- urlserver -> spider (orders)

    def _prepare(self, now: float) -> None:
        for need in self._urlserver.needs(now):
            if isinstance(need, FetchRobots):
                self._robots.ask(need)
            else:
                self._names.ask(need.host, again=need.again)
        for due, outcome, detail, retry_after in self._urlserver.verdicts(now):
            self._keeper.conclude(due, outcome, detail, retry_after)
        for due, seconds in self._urlserver.returned(now):
            self._release([due.doc_id], self._clock.time() + seconds if seconds else 0.0)

    def _order(self, now: float) -> None:
        workers = self._crew.ready()
        self._has_room = bool(workers) and (self._on_pages is None or self._on_pages(()))
        if not self._has_room:
            return
        room = {worker: self._crew.room(worker) for worker in workers}
        visits = self._urlserver.orders(now, min(self._ledger.credit(), sum(room.values())))
        if not visits:
            return
        load = {worker: self._ledger.load(worker) for worker in workers}
        per_worker: dict[int, list[Visit]] = {}
        for visit in visits:
            worker = self._choose(workers, load, visit)
            load[worker] += 1
            due = self._urlserver.due_of(visit.trans_id)
            self._ledger.ordered(visit.trans_id, due, worker, visit.address)
            batch = per_worker.setdefault(worker, [])
            batch.append(visit)
            if len(batch) == room[worker]:
                del load[worker]
        if self._deliveries is not None:
            self._deliveries.ordered(visits, now)
        for worker, batch in per_worker.items():
            self._crew.dispatch(worker, batch)

    def _choose(self, workers: Sequence[int], load: dict[int, int], visit: Visit) -> int:
        """Keep a host with one worker, whose connections to it are open, unless it is too busy."""
        if self._deliveries is not None:
            # Spiders follow redirects by themselves: two at one host would not know of each other.
            holder = self._ledger.holder_of(visit.address)
            if holder in load:
                return holder
        home = workers[hash(visit.address) % len(workers)]
        if home in load:
            idlest = min(load.values())
            if load[home] < idlest + self._settings.crawl.concurrency // (2 * len(workers)):
                return home
        return min(load, key=load.__getitem__)

    # -------------------------------------------------- spider -> catalog (findings)

    def _hear(self, worker: int, tag: Tag, payload: Any, now: float) -> None:
        del worker
        if tag is Tag.REPORT:
            self._done(payload.done, now)
            self._keeper.take(payload.findings, now)
        elif tag is Tag.STARTED:
            for trans_id, sent_at in payload:
                self._urlserver.started(trans_id, sent_at)
        elif tag is Tag.WORKING:
            for trans_id in payload:
                self._urlserver.working(trans_id, now)
        elif tag is Tag.DELIVERED and self._deliveries is not None:
            self._deliveries.done(payload, now)
        elif tag is Tag.VOID:
            self._void(payload, now)
        elif tag is Tag.CANCELLED:
            self._give_back(self._ledger.by_document(payload))

    def _done(self, batch: Sequence[Done], now: float) -> None:
        for done in batch:
            self._urlserver.done(done, now)

    def _commit_if_worth(self, now: float) -> None:
        if self._keeper.wants_to_commit(now):
            self._keeper.commit(self._clocks(now), self._robots.records())
        if self._deliveries is not None and self._deliveries.wants_to_mark(now):
            self._deliveries.mark(self._clocks(now), self._robots.records())

    def _clocks(self, now: float) -> list[HostClock]:
        return stored_clocks(self._urlserver.host_clocks(now), self._clock.time())

    def _committed(self, verdicts: Sequence[Verdict], committed: Committed) -> None:
        again_at = next_try_at(verdicts)
        if committed.new_urls:
            self._dry_until = 0.0
        elif again_at is not None:
            wait = max(0.0, again_at - self._clock.time())
            self._dry_until = min(self._dry_until, self._clock.monotonic() + wait)
        if self._on_pages is not None:
            pages = [each.findings for each in verdicts if each.findings.is_page]
            self._on_pages([page.doc_id for page in pages if page.pointer is not None])

    # ----------------------------------------------------------- what goes wrong

    def _bury(self, worker: int, doc_id: int | None, now: float) -> None:
        """A worker died: what it had not reported is due again; a page that kills twice is out."""
        orders = self._ledger.of_worker(worker)
        for trans_id in orders:
            self._ledger.take_back(trans_id)
        suspects = {trans_id: due for trans_id, due in orders.items() if due.doc_id == doc_id}
        self._urlserver.forget(suspects, now)
        self._urlserver.lost(orders.keys() - suspects.keys(), now)
        for due in suspects.values():
            self._suspect(due)

    def _suspect(self, due: Due) -> None:
        """A worker died over this document: once may be chance, twice is the document."""
        wall = self._clock.time()

        def judge(catalog: Catalog) -> bool:
            if catalog.deaths([due.doc_id]).get(due.doc_id, 0) + 1 >= _MAX_DEATHS:
                return True
            catalog.release([due.doc_id], wall, died=True)
            return False

        def then(poisonous: bool) -> None:
            if poisonous:
                detail = f"ended {_MAX_DEATHS} workers while being parsed"
                self._keeper.conclude(due, Outcome.PARSE_BUDGET, detail)
            else:
                self._ledger.held -= 1
            self._dry_until = 0.0

        self._keeper.write(judge, then)

    def _void(self, void: Void, now: float) -> None:
        """The archive refused: nothing was acknowledged, so the URLs are simply due again."""
        self._done(void.done, now)
        self._give_back(self._ledger.by_document(void.doc_ids))
        self._keeper.pause("disk" if void.disk_full else "archive", void.detail)

    def _give_back(self, trans_ids: Sequence[int]) -> None:
        taken = [self._ledger.take_back(trans_id) for trans_id in trans_ids]
        self._urlserver.forget(trans_ids, self._clock.monotonic())
        self._release([due.doc_id for due in taken if due is not None])

    def _release(self, doc_ids: Sequence[int], due_at: float = 0.0) -> None:
        if not doc_ids:
            return
        wall = self._clock.time()

        def then(released: int) -> None:
            del released
            self._ledger.held -= len(doc_ids)
            self._dry_until = 0.0

        self._keeper.write(lambda catalog: catalog.release(doc_ids, wall, due_at=due_at), then)

    def _added(self, result: object) -> None:
        del result
        self._dry_until = 0.0

    # ------------------------------------------------------------- now and then

    def _tick(self, now: float) -> None:
        self._next_tick = now + _TICK_SECONDS
        for trans_id, due, given_up in self._urlserver.overdue(now):
            worker = self._ledger.worker_of(trans_id)
            if worker is not None:
                self._crew.withdraw(worker, trans_id)
            self._ledger.take_back(trans_id)
            if given_up:
                self._give_up(due)
        self._crew.overdue(now, self._settings.parse.cpu_seconds)
        self._keeper.watch_disk(now)
        if self._on_progress is not None:
            self._on_progress(self.progress())

    def _give_up(self, due: Due) -> None:
        """Conclude a URL for good about which spiders never said a word, however often asked."""
        outcome = Outcome.NET_TIMEOUT_TOTAL
        orders = due.tries + self._settings.urlserver.max_retries
        tried = replace(due, tries=max(orders, RULES[outcome].tries))
        self._keeper.conclude(tried, outcome, "the spider never said what became of it")

    def progress(self) -> Progress:
        """Return a snapshot."""
        return progress_of(
            self._keeper.counts,
            rate=self._rate.note(self._clock.monotonic(), self._keeper.counts.pages),
            hosts=self._urlserver.stats().hosts,
            in_flight=self._ledger.in_flight,
            memory=memory_of(self._crew.process_ids()),
            received=self._keeper.received_bytes,
            state=self._keeper.paused or "running",
        )

    def _add_sitemaps(self) -> None:
        """Enter the sitemaps that robots.txt files name; only what they list must be in scope."""
        named = self._robots.sitemaps()
        if not named or not self._settings.crawl.sitemaps:
            return
        urls = {
            url for text in named if (url := canonicalize(text, self._settings.url)) is not None
        }
        found = [self._sitemap(url) for url in urls]
        wall = self._clock.time()
        self._keeper.write(lambda catalog: catalog.discover(found, wall), self._added)

    def _sitemap(self, url: str) -> Found:
        found = Found(url, md5_of(url), host_of(url), depth=0, kind=int(Kind.SITEMAP))
        if port_refusal(port_of(url), self._settings.spider.allowed_ports) is None:
            return found
        return replace(found, state=int(State.EXCLUDED), outcome=int(Outcome.POLICY_PORT))

    # ------------------------------------------------------------------ the end

    def _wait_seconds(self, now: float) -> float:
        moments = [self._next_tick, self._keeper.commit_at(), self._crew.wake_at()]
        if self._deliveries is not None:
            moments += [self._deliveries.mark_at(), self._deliveries.look_at()]
        if not self._keeper.paused and self._has_room and self._ledger.credit():
            moments.append(self._urlserver.wake_at(now))
            if now < self._dry_until:
                moments.append(self._dry_until)
        return max(0.0, min(moment for moment in moments if moment is not None) - now)

    def _reason_to_stop(self, now: float) -> Stop | None:
        if self._stops.requested is not None:
            return self._stops.requested
        if not self._until_idle:
            return None
        if self._keeper.paused:
            return self._stops.paused_too_long(now, self._settings.crawl.patience_seconds)
        if self._ledger.uncommitted or not self._keeper.idle:
            return None
        if self._ledger.limit_reached:
            return self._stops.page_limit(self._settings.crawl.max_pages)
        silent = self._urlserver.stats().resolver_silent_seconds
        if silent > min(self._settings.crawl.patience_seconds, _SILENT_SECONDS):
            return self._stops.no_names(
                silent, self._keeper.counts.pending + self._keeper.counts.leased
            )
        if self._robots.busy or self._names.busy or self._ledger.awaited > 0:
            return None
        if self._lull_seconds is not None:
            return self._reason_to_pause(now, self._lull_seconds)
        if (
            self._urlserver.empty
            and self._keeper.counts.pending == 0
            and self._keeper.counts.leased == 0
        ):
            return self._finish()
        return self._stops.stalled(
            now,
            self._next_event(now),
            self._settings.crawl.patience_seconds,
            self._keeper.counts.pending + self._keeper.counts.leased,
        )

    def _reason_to_pause(self, now: float, lull_seconds: float) -> Stop | None:
        """End when nothing is due soon: what waits for its time is for another run."""
        if not self._urlserver.empty:
            wake = self._urlserver.wake_at(now)
            patience = self._settings.crawl.patience_seconds
            waits = wake is None or wake - now > patience
            return self._stops.nothing_due() if waits and not self._refilling else None
        asked = not self._refilling and self._dry_until > 0
        return self._stops.nothing_due() if asked and self._dry_until - now > lull_seconds else None

    def _finish(self) -> Stop | None:
        """End, unless somebody who is asked first has made more to do."""
        ask = self._before_end
        if ask is None:
            return self._stops.finished()

        def then(answer: tuple[int, Counts]) -> None:
            more, self._keeper.counts = answer
            self._before_end = ask if more else None
            self._dry_until = 0.0

        # Asked once; the keeper is not idle until there is an answer.
        self._keeper.write(lambda catalog: (ask(catalog), catalog.counts()), then)
        return None

    def _next_event(self, now: float) -> float | None:
        """Return when anything could happen by itself; None when nothing will."""
        wake = self._urlserver.wake_at(now)
        times = [self._dry_until] if wake is None else [self._dry_until, wake]
        return min(times)

    def _wind_down(self, stop: Stop) -> None:
        """Order nothing more; keep what was fetched, return the rest."""
        deadline = self._clock.monotonic() + (0.0 if stop.at_once else self._grace_seconds)
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
        self._release(left)
        wall = self._clock.time()
        if not self._keeper.paused:
            self._commit_if_worth(self._clock.monotonic())
            clocks = self._clocks(self._clock.monotonic())
            robots = self._robots.records()
            self._writer.submit(lambda catalog: catalog.commit((), wall, clocks, (), robots))
            self._writer.submit(lambda catalog: catalog.end_run(wall))
        self._writer.submit(lambda catalog: catalog.counts(), self._count)
        self._listen_until(self._clock.monotonic() + 60.0, lambda: self._writer.idle)

    def _is_all_kept(self) -> bool:
        return self._keeper.idle and (self._deliveries is None or self._deliveries.idle)

    def _count(self, counts: Counts) -> None:
        self._keeper.counts = counts

    def _listen_until(self, deadline: float, finished: Callable[[], bool]) -> None:
        while not finished() and self._clock.monotonic() < deadline and not self._stops.at_once:
            self._writer.collect()
            self._commit_if_worth(self._clock.monotonic())
            self._wait_and_listen(0.02)
        self._writer.collect()
