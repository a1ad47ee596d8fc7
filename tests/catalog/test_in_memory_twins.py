"""Two catalogs lead the same lives: the one in plain objects answers as the one on SQLite does."""

from random import Random

import pytest
from catalog_rig import NOW, excluded, found, md5_of, page
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.catalog.catalog import HostClock, RobotsRecord, TrapCount, Verdict
from gossamer.catalog.in_memory import InMemoryCatalog
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.messages import Kind, Pointer
from gossamer.outcomes import Outcome, State

HOSTS = [f"h{number}.example" for number in range(4)]
# Of the first host there are enough to wait on probation in several lots.
URLS = [f"http://{HOSTS[0]}/{number}" for number in range(24)]
URLS += [f"http://{host}/{number}" for host in HOSTS[1:] for number in range(6)]
NUMBERS = range(len(URLS) + 2)
STEPS = 120


class Gate:
    """Refuses some URLs, and writes down what it was told."""

    def __init__(self, refused, closing):
        self._refused = refused
        self._closing = closing
        self.heard = []

    def begin(self, is_open):
        self._is_open = is_open

    def admit(self, item):
        self.heard.append(("admit", item, self._is_open(item.host)))
        if item.url not in self._refused:
            return item
        trapped = {"state": int(State.EXCLUDED), "outcome": int(Outcome.POLICY_TRAP)}
        return replace(item, detail="a trap", **trapped)

    def judged(self, finder, findings):
        self.heard.append(("judged", finder, findings.doc_id))

    def closed(self):
        self.heard.append("closed")
        return HOSTS[:2] if self._closing else []

    def refusal(self, finder):
        return f"not from {finder}" if finder in self._closing else None

    def changed(self):
        return [TrapCount("h0.example", "gate", len(self.heard))]

    def end(self):
        self.heard.append("end")


class Chance:
    """Makes up what is found and what comes of visits."""

    def __init__(self, seed):
        self.draw = Random(seed)

    def one(self, *choices):
        return self.draw.choice(choices)

    def some(self, values, most):
        return self.draw.sample(list(values), min(self.draw.randint(0, most), len(values)))

    def found(self):
        url, depth = self.draw.choice(URLS), self.draw.randint(0, 4)
        if self.draw.random() < 0.2:
            reason = self.one(Outcome.POLICY_TRAP, Outcome.POLICY_SCOPE, Outcome.POLICY_BUDGET)
            return excluded(url, depth, reason)
        return found(
            url,
            depth,
            kind=int(self.one(Kind.PAGE, Kind.PAGE, Kind.PAGE, Kind.SITEMAP, Kind.ASSET)),
            via=self.one((), (), (URLS[0], URLS[1])),
            probation=self.one("", "", "h0.example/"),
        )

    def finds(self, most):
        return [self.found() for _ in range(self.draw.randint(0, most))]

    def findings(self, doc_id):
        if self.draw.random() < 0.4:
            return page(doc_id, self.finds(5), checksum=self.body(), tries=1)
        return page(
            doc_id,
            self.finds(3),
            outcome=int(
                self.one(
                    *(Outcome.OK, Outcome.NOT_MODIFIED, Outcome.HTTP_4XX, Outcome.NET_RESET),
                    *(Outcome.POLICY_ROBOTS_UNREACHABLE, Outcome.PARSE_FAILED),
                )
            ),
            status=self.one(200, 200, 301, 304, 404, 408),
            fetched_at=self.one(0.0, NOW, NOW + 5),
            checksum=self.body(),
            body_bytes=self.one(0, 1_000),
            simhash=self.one(None, 5, 2**64 - 1),
            etag=self.one(None, '"x"', '"y"'),
            last_modified=self.one(None, "Tue"),
            redirect_to=self.one(None, URLS[0]),
            pointer=self.one(None, Pointer("a.warc.gz", 10, 20), Pointer("a.warc.gz", 50, 5)),
            payload_digest=self.one("", "sha1:" + "A2B3" * 8, "other:1"),
            title=self.one("", "T"),
            detail=self.one("", "why"),
            targets=self.one(b"", md5_of(URLS[0])[:8] + md5_of("unknown")[:8]),
            records=self.one((), ('{"a":1}', '{"b":2}')),
            tries=self.draw.randint(1, 3),
        )

    def body(self):
        return self.one(None, *(md5_of(str(number)) for number in range(3)))

    def verdict(self, doc_id, now):
        state = self.one(State.DONE, State.DONE, State.FAILED, State.PENDING, State.EXCLUDED)
        due_at = self.one(0.0, 0.0, now + 20, now + 5_000)
        return Verdict(self.findings(doc_id), state, due_at)

    def clock(self, now):
        return HostClock(
            host=self.one(*HOSTS),
            next_allowed_at=self.one(0.0, now + 3),
            delay_seconds=self.one(0.0, 2.5),
            address=self.one("", "192.0.2.1"),
            failures_in_a_row=self.one(0, 1),
            parked_until=self.one(0.0, 0.0, now + 10, now + 1_000),
        )


class Twins:
    """Has the same done to both, and compares what they answer."""

    def __init__(self, seed):
        self.chance = chance = Chance(seed)
        rules = CatalogSettings(
            follow_duplicates=chance.one(True, False), keep_links=chance.one(True, True, False)
        )
        self.catalogs = [SqliteCatalog.open(":memory:", rules), InMemoryCatalog(rules)]
        self.now = NOW
        self.both(lambda catalog: catalog.begin_run(self.now))

    def close(self):
        for catalog in self.catalogs:
            catalog.close()

    def both(self, ask):
        theirs, ours = map(ask, self.catalogs)
        assert ours == theirs
        return ours

    def lead_a_life(self):
        ordinary = (self.add, self.lease, self.lease, self.commit, self.commit, self.gated)
        rare = (
            *(self.discover, self.release, self.readmit, self.keep_out, self.requeue),
            *(self.try_again, self.begin_again, self.deliver, self.adopt, self.park),
            *(self.pass_time, self.pass_time),
        )
        for step in range(STEPS):
            self.chance.one(*(ordinary if self.chance.draw.random() < 0.6 else rare))()
            self.compare(QUESTIONS if step % 10 == 9 else QUESTIONS[:1])
        self.now += 1e6
        while self.both(lambda catalog: catalog.due(5, 3, self.now)):
            pass

    def compare(self, questions):
        for ask in questions:
            self.both(ask)
        if len(questions) > 1:
            assert self.both(lambda catalog: catalog.check()) == []
        self.both(lambda catalog: catalog.next_due_at(self.now))
        self.both(lambda catalog: catalog.next_due_at(self.now, HOSTS[:2]))

    def leased(self):
        return list(self.catalogs[0].dues(NUMBERS))

    def add(self):
        items, priority = self.chance.finds(5), self.chance.one(0, 0, 1, 2)
        self.both(lambda catalog: catalog.add(items, self.now, priority=priority, note="starts"))

    def discover(self):
        items = self.chance.finds(5)
        self.both(lambda catalog: catalog.discover(items, self.now))

    def lease(self):
        count, per_host = self.chance.one((3, 2), (8, 8), (100, 100), (0, 5), (2, 0))
        reject = set(self.chance.some(HOSTS, 1))
        self.both(lambda catalog: catalog.due(count, per_host, self.now, reject))

    def verdicts(self):
        ids = self.chance.some(self.leased(), 6) + self.chance.some(NUMBERS, 1)
        return [self.chance.verdict(doc_id, self.now) for doc_id in ids]

    def commit(self):
        batch = self.verdicts()
        hosts = [self.chance.clock(self.now)] if self.chance.draw.random() < 0.3 else []
        trap = TrapCount(
            "h1.example", self.chance.one("x", "y"), len(batch), self.chance.one("", "c")
        )
        robots = RobotsRecord(
            authority=self.chance.one("http://a", "http://b"), fetched_at=self.now,
            expires_at=self.now, status=200, outcome=1, body=b"*",
        )  # fmt: skip
        self.both(lambda catalog: catalog.commit(batch, self.now, hosts, [trap], [robots]))

    def gated(self):
        batch = self.verdicts()
        refused, closing = set(self.chance.some(URLS, 8)), set(self.chance.some(URLS, 4))

        def ask(catalog):
            gate = Gate(refused, closing)
            return catalog.commit(batch, self.now, gate=gate), gate.heard

        self.both(ask)

    def release(self):
        ids = self.chance.some(self.leased(), 3) + self.chance.some(NUMBERS, 1)
        due_at, died = self.chance.one(0.0, self.now + 7), self.chance.one(True, False)
        self.both(lambda catalog: catalog.release(ids, self.now, due_at=due_at, died=died))

    def readmit(self):
        ids = self.chance.some(NUMBERS, 9)
        self.both(lambda catalog: catalog.readmit(ids, self.now))

    def keep_out(self):
        ids, detail = self.chance.some(NUMBERS, 6), self.chance.one("", "not now")
        outcome = self.chance.one(Outcome.POLICY_SCOPE, Outcome.POLICY_TRAP)
        self.both(lambda catalog: catalog.keep_out(ids, outcome, self.now, detail))

    def requeue(self):
        self.now += self.chance.one(0.0, 200_000.0)
        limit = self.chance.draw.randint(1, 9)
        self.both(lambda catalog: catalog.requeue_due(self.now, limit))

    def try_again(self):
        tries, statuses = self.chance.one(1, 2, 4), self.chance.one((), (408,))
        ways = {Outcome.NET_RESET}
        self.both(lambda catalog: catalog.try_again(ways, tries, self.now, statuses=statuses))

    def begin_again(self):
        if self.chance.one(True, False):
            self.both(lambda catalog: catalog.end_run(self.now))
        keep, longest = self.chance.one(None, None, 10.0), self.chance.one(86_400.0, 15.0)
        waits = {"longest_wait_seconds": longest, "keep_delivered_seconds": keep}
        self.both(lambda catalog: catalog.begin_run(self.now, **waits))

    def deliver(self):
        ids, seconds = self.chance.some(NUMBERS, 6), self.chance.one(0.0, 10.0)
        self.both(lambda catalog: catalog.mark_delivered(ids, self.now))
        self.now += self.chance.one(0.0, 6.0, 12.0)
        self.both(lambda catalog: catalog.release_undelivered(self.now, seconds))

    def adopt(self):
        items, parent = self.chance.finds(4), self.chance.one(None, *NUMBERS)
        self.both(lambda catalog: catalog.adopt(items, parent, self.now))

    def park(self):
        clock = self.chance.clock(self.now)
        self.both(lambda catalog: catalog.set_host(clock))

    def pass_time(self):
        self.now += self.chance.one(0.5, 20.0, 2_000.0, -30.0, -500.0)


QUESTIONS = (
    lambda catalog: catalog.counts(),
    lambda catalog: catalog.outcome_counts(),
    lambda catalog: list(catalog.rows()),
    lambda catalog: [catalog.history(doc_id) for doc_id in NUMBERS],
    lambda catalog: [catalog.row(doc_id) for doc_id in NUMBERS],
    lambda catalog: [catalog.find(url) for url in URLS],
    lambda catalog: sorted(catalog.links()),
    lambda catalog: list(catalog.records()),
    lambda catalog: list(catalog.excluded()),
    lambda catalog: list(catalog.pending()),
    lambda catalog: catalog.deaths(NUMBERS),
    lambda catalog: catalog.dues(NUMBERS),
    lambda catalog: catalog.results_after(0, 100),
    lambda catalog: catalog.bodies_after(1, 5),
    lambda catalog: catalog.find_content(md5_of("1")),
    lambda catalog: catalog.known_good(),
    lambda catalog: catalog.host_rows(),
    lambda catalog: [catalog.host_clock(host) for host in HOSTS],
    lambda catalog: sorted(catalog.host_clocks(NOW + 5), key=lambda clock: clock.host),
    lambda catalog: catalog.traps(),
    lambda catalog: [catalog.robots(authority) for authority in ("http://a", "http://b")],
    lambda catalog: catalog.note("starts"),
    lambda catalog: [row for rows in catalog.known() for row in rows],
    lambda catalog: catalog.surveyed_all(NUMBERS),
    lambda catalog: catalog.kept_out_as(Outcome.POLICY_TRAP, "a trap"),
    lambda catalog: (catalog.last_run_id(), catalog.last_fetch_id(), catalog.pages_done()),
    lambda catalog: (catalog.first_fetched_at(), catalog.last_fetched_at()),
    lambda catalog: (catalog.fetched_since(NOW + 1), catalog.pages_since(NOW + 1)),
    lambda catalog: catalog.near_duplicate_count(),
)


@pytest.mark.timeout(300)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_both_catalogs_answer_alike(seed):
    """Whatever happens, in whatever order: results, counters, rows, and who is leased when."""
    twins = Twins(seed)
    try:
        twins.lead_a_life()
    finally:
        twins.close()
