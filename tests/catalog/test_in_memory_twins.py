"""Two catalogs lead the same lives: the one in plain objects answers as the one on SQLite does."""

import pytest
from catalog_rig import NOW, excluded, found, md5_of, page
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from gossamer.catalog.catalog import HostClock, RobotsRecord, TrapCount, Verdict
from gossamer.catalog.in_memory import InMemoryCatalog
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.messages import Kind, Pointer
from gossamer.outcomes import Outcome, State

HOSTS = [f"h{number}.example" for number in range(4)]
URLS = [f"http://{host}/{number}" for host in HOSTS for number in range(5)]
numbers = st.sets(st.integers(0, 12), max_size=6)
outcomes = st.sampled_from([Outcome.POLICY_TRAP, Outcome.POLICY_SCOPE, Outcome.POLICY_BUDGET])
offers = st.builds(
    found,
    st.sampled_from(URLS),
    st.integers(0, 3),
    kind=st.sampled_from([Kind.PAGE, Kind.PAGE, Kind.SITEMAP, Kind.ASSET]).map(int),
    via=st.sampled_from([(), (), ("http://h0.example/0", "http://h1.example/1")]),
    probation=st.sampled_from(["", "", "h0.example/"]),
)
kept_out = st.builds(excluded, st.sampled_from(URLS), st.integers(0, 3), outcomes)
findings = st.builds(
    page,
    st.integers(1, 12),
    st.lists(offers | kept_out, max_size=4),
    outcome=st.sampled_from(
        [Outcome.OK, Outcome.OK, Outcome.NOT_MODIFIED, Outcome.HTTP_4XX, Outcome.NET_RESET,
         Outcome.POLICY_ROBOTS_UNREACHABLE]
    ).map(int),
    status=st.sampled_from([200, 200, 301, 304, 404, 408]),
    fetched_at=st.sampled_from([0.0, NOW, NOW + 5]),
    checksum=st.sampled_from([None, *(md5_of(f"{body}") for body in range(3))]),
    body_bytes=st.sampled_from([0, 1_000]),
    simhash=st.sampled_from([None, 5, 2**64 - 1]),
    etag=st.sampled_from([None, '"x"']),
    last_modified=st.sampled_from([None, "Tue"]),
    redirect_to=st.sampled_from([None, URLS[0]]),
    pointer=st.sampled_from([None, Pointer("a.warc.gz", 10, 20), Pointer("a.warc.gz", 50, 5)]),
    payload_digest=st.sampled_from(["", "sha1:" + "A2B3" * 8, "other:1"]),
    title=st.sampled_from(["", "T"]),
    detail=st.sampled_from(["", "why"]),
    targets=st.sampled_from([b"", md5_of(URLS[0])[:8] + md5_of("unknown")[:8]]),
    records=st.sampled_from([(), ('{"a":1}', '{"b":2}')]),
    tries=st.integers(1, 3),
)  # fmt: skip
states = st.sampled_from([State.DONE, State.DONE, State.FAILED, State.PENDING, State.EXCLUDED])
verdicts = st.builds(Verdict, findings, states, st.sampled_from([0.0, NOW + 20, NOW + 5_000]))
clocks = st.builds(
    HostClock,
    host=st.sampled_from(HOSTS),
    next_allowed_at=st.sampled_from([0.0, NOW + 3]),
    delay_seconds=st.sampled_from([0.0, 2.5]),
    address=st.sampled_from(["", "192.0.2.1"]),
    failures_in_a_row=st.integers(0, 2),
    parked_until=st.sampled_from([0.0, 0.0, NOW + 10, NOW + 1_000]),
)
traps = st.builds(
    TrapCount, st.sampled_from(HOSTS), st.sampled_from("xy"), st.integers(1, 9),
    st.sampled_from(["", "calendar"]),
)  # fmt: skip
robots = st.builds(
    RobotsRecord, authority=st.sampled_from(["http://a", "http://b"]), fetched_at=st.just(NOW),
    expires_at=st.just(NOW + 9), status=st.just(200), outcome=st.just(1), body=st.just(b"*"),
)  # fmt: skip


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


class Twins(RuleBasedStateMachine):
    """Has the same done to both, and compares what they answer."""

    def __init__(self):
        super().__init__()
        self.catalogs = []
        self.now = NOW

    @initialize(follow_duplicates=st.booleans(), keep_links=st.booleans())
    def begin(self, **chosen):
        rules = CatalogSettings(**chosen)
        self.catalogs = [SqliteCatalog.open(":memory:", rules), InMemoryCatalog(rules)]
        self.both(lambda catalog: catalog.begin_run(self.now))

    def teardown(self):
        for catalog in self.catalogs:
            catalog.close()

    def both(self, ask):
        theirs, ours = map(ask, self.catalogs)
        assert ours == theirs
        return ours

    @rule(items=st.lists(offers | kept_out, max_size=5), priority=st.integers(0, 2))
    def add(self, items, priority):
        self.both(lambda catalog: catalog.add(items, self.now, priority=priority, note="starts"))

    @rule(items=st.lists(offers | kept_out, max_size=5))
    def discover(self, items):
        self.both(lambda catalog: catalog.discover(items, self.now))

    @rule(
        count=st.integers(0, 8),
        per_host=st.integers(0, 9),
        reject=st.sets(st.sampled_from(HOSTS), max_size=2),
    )
    def lease(self, count, per_host, reject):
        self.both(lambda catalog: catalog.due(count, per_host, self.now, reject))

    @rule()
    def lease_all(self):
        self.both(lambda catalog: catalog.due(100, 100, self.now))

    @rule(
        batch=st.lists(verdicts, max_size=6),
        hosts=st.lists(clocks, max_size=2),
        counts=st.lists(traps, max_size=2),
        records=st.lists(robots, max_size=2),
    )
    def commit(self, batch, hosts, counts, records):
        self.both(lambda catalog: catalog.commit(batch, self.now, hosts, counts, records))

    @rule(
        batch=st.lists(verdicts, min_size=1, max_size=6),
        refused=st.sets(st.sampled_from(URLS), max_size=8),
        closing=st.sets(st.sampled_from(URLS), max_size=4),
    )
    def commit_through_a_gate(self, batch, refused, closing):
        def ask(catalog):
            gate = Gate(refused, closing)
            return catalog.commit(batch, self.now, gate=gate), gate.heard

        self.both(ask)

    @rule(doc_ids=numbers, wait=st.sampled_from([0.0, 0.0, 7.0]), died=st.booleans())
    def release(self, doc_ids, wait, died):
        due_at = self.now + wait if wait else 0.0
        self.both(lambda catalog: catalog.release(doc_ids, self.now, due_at=due_at, died=died))

    @rule(doc_ids=numbers)
    def readmit(self, doc_ids):
        self.both(lambda catalog: catalog.readmit(doc_ids, self.now))

    @rule(doc_ids=numbers, outcome=outcomes, detail=st.sampled_from(["", "not now"]))
    def keep_out(self, doc_ids, outcome, detail):
        self.both(lambda catalog: catalog.keep_out(doc_ids, outcome, self.now, detail))

    @rule(limit=st.integers(1, 5))
    def requeue(self, limit):
        self.both(lambda catalog: catalog.requeue_due(self.now, limit))

    @rule(tries=st.integers(1, 4), statuses=st.sampled_from([(), (408,)]))
    def try_again(self, tries, statuses):
        ways = {Outcome.NET_RESET}
        self.both(lambda catalog: catalog.try_again(ways, tries, self.now, statuses=statuses))

    @rule(seconds=st.sampled_from([0.5, 20.0, 2_000.0, 200_000.0, -30.0, -500.0]))
    def pass_time(self, seconds):
        self.now += seconds

    @rule(
        ended=st.booleans(),
        keep=st.sampled_from([None, None, 10.0]),
        longest=st.sampled_from([86_400.0, 15.0]),
    )
    def begin_again(self, ended, keep, longest):
        if ended:
            self.both(lambda catalog: catalog.end_run(self.now))
        waits = {"longest_wait_seconds": longest, "keep_delivered_seconds": keep}
        self.both(lambda catalog: catalog.begin_run(self.now, **waits))

    @rule(doc_ids=numbers)
    def deliver(self, doc_ids):
        self.both(lambda catalog: catalog.mark_delivered(doc_ids, self.now))

    @rule(seconds=st.sampled_from([0.0, 10.0]))
    def give_up_deliveries(self, seconds):
        self.both(lambda catalog: catalog.release_undelivered(self.now, seconds))

    @rule(items=st.lists(offers | kept_out, max_size=4), parent=st.none() | st.integers(1, 15))
    def adopt(self, items, parent):
        self.both(lambda catalog: catalog.adopt(items, parent, self.now))

    @invariant()
    def they_know_the_same(self):
        if not self.catalogs:
            return
        self.both(lambda catalog: catalog.check())
        assert self.catalogs[1].check() == []
        for ask in QUESTIONS:
            self.both(ask)
        self.both(lambda catalog: catalog.next_due_at(self.now))
        self.both(lambda catalog: catalog.next_due_at(self.now, HOSTS[:2]))


QUESTIONS = (
    lambda catalog: catalog.counts(),
    lambda catalog: catalog.outcome_counts(),
    lambda catalog: list(catalog.rows()),
    lambda catalog: [catalog.history(doc_id) for doc_id in range(22)],
    lambda catalog: [catalog.row(doc_id) for doc_id in range(22)],
    lambda catalog: [catalog.find(url) for url in URLS],
    lambda catalog: sorted(catalog.links()),
    lambda catalog: list(catalog.records()),
    lambda catalog: list(catalog.excluded()),
    lambda catalog: list(catalog.pending()),
    lambda catalog: catalog.deaths(range(22)),
    lambda catalog: catalog.dues(range(22)),
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
    lambda catalog: catalog.surveyed_all(range(22)),
    lambda catalog: catalog.kept_out_as(Outcome.POLICY_TRAP, "a trap"),
    lambda catalog: (catalog.last_run_id(), catalog.last_fetch_id(), catalog.pages_done()),
    lambda catalog: (catalog.first_fetched_at(), catalog.last_fetched_at()),
    lambda catalog: (catalog.fetched_since(NOW + 1), catalog.pages_since(NOW + 1)),
    lambda catalog: catalog.near_duplicate_count(),
)

Twins.TestCase.settings = settings(
    max_examples=120, stateful_step_count=30, deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
TestTwins = pytest.mark.timeout(300)(Twins.TestCase)
