"""A simulated web, catalog and spider around a real UrlServer, with a log of what went out when."""

import heapq
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import count, pairwise

from gossamer.config.urlserver import UrlServerSettings
from gossamer.messages import Done, Due
from gossamer.outcomes import Outcome, wait_before_try
from gossamer.url.parts import host_of, path_query_of
from gossamer.urlserver.urlserver import (
    FetchRobots,
    Resolution,
    RobotsAnswer,
    UrlServer,
)

ALLOWED = RobotsAnswer(Outcome.HTTP_4XX, status=404)


def rules(text: str) -> RobotsAnswer:
    return RobotsAnswer(Outcome.OK, status=200, body=text.encode())


@dataclass
class Site:
    """One host of the simulated web."""

    name: str
    address: str
    robots: RobotsAnswer = ALLOWED
    seconds: float = 0.1
    """How long a fetch takes."""
    lag: float = 0.0
    """How long after its dispatch a request goes out at most."""
    outcomes: tuple[Outcome, ...] = (Outcome.OK,)
    """What fetches come to, drawn at random."""
    name_failure: Outcome | None = None


@dataclass
class Sent:
    """A request as the server at the other end sees it."""

    host: str
    address: str
    path: str
    at: float
    until: float


@dataclass
class World:
    """Drives a UrlServer through simulated time."""

    settings: UrlServerSettings
    sites: list[Site]
    seed: int = 0
    credit: int = 1_000
    deaths: float = 0.0
    """The chance, at each step, that the spider dies with all it has open."""
    silence: float = 0.0
    """The chance that a spider never says a word about an order again."""
    now: float = 1_000.0
    log: list[Sent] = field(default_factory=list)
    finals: Counter = field(default_factory=Counter)
    results: dict[int, Outcome] = field(default_factory=dict)
    robots_fetches: Counter = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.server = UrlServer(self.settings, robots_agent="gossamer")
        self._site = {site.name: site for site in self.sites}
        self._random = random.Random(self.seed)
        self._events: list = []
        self._numbers = count()
        self._catalog: list = []
        self._tries: Counter = Counter()
        self._out: dict[int, Due] = {}
        self._doc_ids = count(1)

    def site(self, name: str) -> Site:
        return self._site[name]

    def add(self, *urls: str) -> list[Due]:
        dues = [Due(next(self._doc_ids), url, host_of(url)) for url in urls]
        for due in dues:
            heapq.heappush(self._catalog, (0.0, due.doc_id, due))
        return dues

    def run(self, seconds: float = 1e6, steps: int = 100_000) -> None:
        """Go on until nothing is left to do."""
        end = self.now + seconds
        for _ in range(steps):
            self.step()
            moment = self._next_moment()
            if moment is None or moment > end:
                return
            self.now = max(self.now, moment)
        raise AssertionError("the simulation does not come to an end")

    def step(self) -> None:
        self._fire()
        if self.deaths and self._random.random() < self.deaths:
            self._die()
        for overdue in self.server.overdue(self.now):
            self._out.pop(overdue.trans_id, None)
            if overdue.given_up:
                self._final(overdue.due, Outcome.NET_TIMEOUT_TOTAL)
        self._refill()
        for _ in range(3):
            for visit in self.server.orders(self.now, self.credit - len(self._out)):
                self._fetch(visit)
            for need in self.server.needs(self.now):
                self._serve_need(need)
            self._fire()
        for due, outcome, _, retry_after in self.server.verdicts(self.now):
            self._conclude(due, outcome, retry_after)
        for due, seconds in self.server.returned(self.now):
            heapq.heappush(self._catalog, (self.now + seconds, due.doc_id, due))

    def _refill(self) -> None:
        refill = self.server.wants(self.now)
        if refill is None:
            return
        batch, left, per_host = [], [], Counter()
        while self._catalog and self._catalog[0][0] <= self.now and len(batch) < refill.count:
            entry = heapq.heappop(self._catalog)
            due = entry[2]
            if due.host in refill.reject_hosts or per_host[due.host] >= refill.per_host:
                left.append(entry)
            else:
                per_host[due.host] += 1
                batch.append(due)
        for entry in left:
            heapq.heappush(self._catalog, entry)
        self.server.offer(batch, self.now)

    def _serve_need(self, need) -> None:
        if not isinstance(need, FetchRobots):
            site = self._site.get(need.host)
            failure = Outcome.DNS_NXDOMAIN if site is None else site.name_failure
            addresses = () if failure else (site.address,)
            answer = Resolution(addresses, self.now + 300, failure)
            self._at(self.now + 0.01, lambda: self.server.resolved(need.host, answer, self.now))
            return
        site = self._site[need.host]
        self.robots_fetches[need.authority] += 1
        sent_at = self.now + self._random.uniform(0, site.lag)
        end = sent_at + site.seconds
        self.log.append(Sent(need.host, need.address, path_query_of(need.url), sent_at, end))
        answer = site.robots
        body = (answer.outcome, answer.status, answer.body, answer.location, sent_at)
        self._at(
            end,
            lambda: self.server.robots_answer(need.authority, RobotsAnswer(*body), self.now),
        )
        if need.report_start:
            self._at(sent_at, lambda: self.server.started(need.trans_id, sent_at))

    def _fetch(self, visit) -> None:
        due = self.server.due_of(visit.trans_id)
        site = self._site[due.host]
        assert visit.trans_id not in self._out
        self._out[visit.trans_id] = due
        sent_at = self.now + self._random.uniform(0, site.lag)
        end = sent_at + site.seconds * self._random.uniform(0.5, 1.5)
        self.log.append(Sent(due.host, visit.address, path_query_of(due.url), sent_at, end))
        if visit.report_start:
            self._at(sent_at, lambda: self._started(visit.trans_id, sent_at))
        if self._random.random() >= self.silence:
            outcome = self._random.choice(site.outcomes)
            done = Done(visit.trans_id, int(outcome), 200, sent_at)
            self._at(end, lambda: self._done(done, due, outcome))

    def _started(self, trans_id: int, sent_at: float) -> None:
        if trans_id in self._out:
            self.server.started(trans_id, sent_at)

    def _done(self, done: Done, due: Due, outcome: Outcome) -> None:
        if self._out.pop(done.trans_id, None) is None:
            before = self.server.stats().stale
            assert self.server.done(done, self.now) is None
            assert self.server.stats().stale == before + 1
            return
        assert self.server.done(done, self.now) == due
        self._conclude(due, outcome, None)

    def _die(self) -> None:
        ids, self._out = list(self._out), {}
        for entry in self.log:
            # A request of a dead spider is never sent, or is cut.
            entry.at = min(entry.at, self.now) if entry.until > self.now else entry.at
            entry.until = min(entry.until, self.now)
        self.server.lost(ids, self.now)

    def _conclude(self, due: Due, outcome: Outcome, retry_after: float | None) -> None:
        self._tries[due.doc_id] += 1
        wait = wait_before_try(
            outcome,
            self._tries[due.doc_id],
            self.settings.retry_soon_seconds,
            self.settings.retry_back_off_seconds,
        )
        if wait is None:
            self._final(due, outcome)
        else:
            heapq.heappush(
                self._catalog, (self.now + max(wait, retry_after or 0.0), due.doc_id, due)
            )

    def _final(self, due: Due, outcome: Outcome) -> None:
        self.finals[due.doc_id] += 1
        self.results[due.doc_id] = outcome

    def _at(self, moment: float, action) -> None:
        heapq.heappush(self._events, (moment, next(self._numbers), action))

    def _fire(self) -> None:
        while self._events and self._events[0][0] <= self.now:
            heapq.heappop(self._events)[2]()

    def _next_moment(self) -> float | None:
        moments = [self._events[0][0]] if self._events else []
        if self._catalog:
            # What is due but was not taken belongs to hosts that are full or held.
            pause = 0.05 if self._events else 5.0
            moments.append(max(self._catalog[0][0], self.now + pause))
        wake = self.server.wake_at(self.now)
        rest = self.server.rest(self.now)
        assert rest is None or rest.seconds > 0
        if wake is not None:
            without_credit = len(self._out) >= self.credit
            moments.append(max(wake, self.now + (1.0 if without_credit else 1e-4)))
        return min(moments, default=None)


def closest_starts(log: list[Sent], by: str) -> dict[str, float]:
    """Return the smallest time between two request starts for each host or address."""
    starts = defaultdict(list)
    for entry in log:
        starts[getattr(entry, by)].append(entry.at)
    return {
        key: min((b - a for a, b in pairwise(times)), default=float("inf"))
        for key, moments in starts.items()
        for times in [sorted(moments)]
    }


def most_at_once(log: list[Sent], by: str) -> dict[str, int]:
    """Return how many requests were open at once at most for each host or address."""
    changes = defaultdict(list)
    for entry in log:
        changes[getattr(entry, by)] += [(entry.at, 1), (entry.until, -1)]
    most: dict[str, int] = {}
    for key, entries in changes.items():
        level = highest = 0
        for _, change in sorted(entries):
            level += change
            highest = max(highest, level)
        most[key] = highest
    return most
