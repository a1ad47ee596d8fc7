"""Random lives of a catalog against a model: the identity holds, no URL is lost or doubled."""

import shutil
import tempfile
from pathlib import Path

import pytest
from catalog_rig import NOW, excluded, found, md5_of, page
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gossamer.catalog.catalog import HostClock, Verdict
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.outcomes import Outcome, State

HOSTS = [f"h{number}.example" for number in range(4)]
URLS = [f"http://{host}/{number}" for host in HOSTS for number in range(6)]
url_lists = st.lists(st.sampled_from(URLS), max_size=5)


class CatalogMachine(RuleBasedStateMachine):
    """Drives a catalog in a file, and a dictionary that must agree with it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="catalog-machine-"))
        self.path = self.folder / "catalog.db"
        self.now = NOW
        self.states: dict[str, State] = {}
        self.due_at: dict[str, float] = {}
        self.parked: dict[str, float] = {}
        self.ids: dict[str, int] = {}
        self.leased: dict[str, int] = {}
        self.delivered: dict[str, float] = {}
        self.writers: list[SqliteCatalog] = []

    @property
    def catalog(self):
        """One of the writers, each in its turn."""
        self.writers.append(self.writers.pop(0))
        return self.writers[0]

    def open(self):
        self.writers = [SqliteCatalog.open(self.path, CatalogSettings())]

    def close(self):
        for catalog in self.writers:
            catalog.close()
        self.writers = []

    @initialize()
    def begin(self):
        self.open()
        self.catalog.begin_run(self.now)

    def teardown(self):
        self.close()
        shutil.rmtree(self.folder)

    def learn(self, url, state):
        if url not in self.states:
            self.states[url] = state
            self.due_at[url] = 0.0

    @rule(urls=url_lists)
    def add(self, urls):
        self.catalog.add([found(url) for url in urls], self.now)
        for url in urls:
            if self.states.get(url) is State.EXCLUDED:
                self.states[url] = State.PENDING
                self.due_at[url] = 0.0
            self.learn(url, State.PENDING)

    @rule(
        count=st.integers(1, 12),
        per_host=st.integers(1, 4),
        reject=st.sets(st.sampled_from(HOSTS)),
    )
    def lease(self, count, per_host, reject):
        batch = self.catalog.due(count, per_host, self.now, reject)
        for due in batch:
            assert self.states[due.url] is State.PENDING, "leased what was not pending"
            assert self.due_at[due.url] <= self.now, "leased before its time"
            assert due.host not in reject
            assert self.parked.get(due.host, 0.0) <= self.now
            assert self.ids.setdefault(due.url, due.doc_id) == due.doc_id
            self.states[due.url] = State.LEASED
            self.leased[due.url] = due.doc_id
        offered = {}
        for url, state in self.states.items():
            host = url.split("/")[2]
            ready = self.due_at[url] <= self.now and self.parked.get(host, 0.0) <= self.now
            if state is State.PENDING and ready and host not in reject:
                offered.setdefault(host, []).append(url)
        if len(batch) < count:
            served = {host: sum(d.host == host for d in batch) for host in offered}
            assert all(served[host] == per_host for host in offered), "held back what was due"

    @precondition(lambda self: self.leased)
    @rule(
        data=st.data(),
        state=st.sampled_from([State.DONE, State.FAILED, State.PENDING, State.EXCLUDED]),
        wait=st.sampled_from([0.0, 5.0, 500.0]),
        links=st.tuples(url_lists, url_lists),
        body=st.integers(0, 3),
    )
    def judge(self, data, state, wait, links, body):
        new, kept_out = links
        url = data.draw(st.sampled_from(sorted(self.leased)))
        discovered = [found(item, 1) for item in new] + [excluded(item, 1) for item in kept_out]
        outcome = {
            State.DONE: Outcome.OK,
            State.FAILED: Outcome.HTTP_4XX,
            State.PENDING: Outcome.NET_RESET,
            State.EXCLUDED: Outcome.POLICY_ROBOTS,
        }[state]
        findings = page(
            self.leased[url], discovered, outcome=int(outcome), checksum=md5_of(f"{body}"),
            fetched_at=self.now,
        )  # fmt: skip
        due_at = self.now + wait if state is State.PENDING and wait else 0.0
        committed = self.catalog.commit([Verdict(findings, state, due_at)], self.now)
        assert committed.stale == ()
        del self.leased[url]
        self.delivered.pop(url, None)
        self.states[url] = state
        self.due_at[url] = due_at
        for item in new:
            self.learn(item, State.PENDING)
        for item in kept_out:
            self.learn(item, State.EXCLUDED)

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def judge_late(self, data):
        url = data.draw(st.sampled_from(sorted(self.ids)))
        if url in self.leased:
            return
        before = self.catalog.counts()
        verdict = Verdict(page(self.ids[url], [found("http://late.example/")]), State.DONE)
        assert self.catalog.commit([verdict], self.now).stale == (self.ids[url],)
        assert self.catalog.counts() == before

    @precondition(lambda self: self.leased)
    @rule(data=st.data(), died=st.booleans())
    def release(self, data, died):
        url = data.draw(st.sampled_from(sorted(self.leased)))
        assert self.catalog.release([self.leased.pop(url)], self.now, died=died) == 1
        self.delivered.pop(url, None)
        self.states[url] = State.PENDING
        self.due_at[url] = 0.0

    @rule(host=st.sampled_from(HOSTS), wait=st.sampled_from([0.0, 10.0, 1_000.0]))
    def park(self, host, wait):
        until = self.now + wait if wait else 0.0
        self.catalog.set_host(HostClock(host=host, parked_until=until))
        self.parked[host] = until

    @rule(seconds=st.sampled_from([1.0, 20.0, 2_000.0, 200_000.0]))
    def pass_time(self, seconds):
        self.now += seconds

    @rule(limit=st.integers(1, 5))
    def requeue(self, limit):
        changed = self.catalog.requeue_due(self.now, limit)
        rows = {row.url: row.state for row in self.catalog.rows()}
        moved = [
            url
            for url, state in self.states.items()
            if state in (State.DONE, State.FAILED) and rows[url] is State.PENDING
        ]
        assert len(moved) == changed <= limit
        for url in moved:
            self.states[url] = State.PENDING
            self.due_at[url] = 0.0

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def deliver(self, data):
        urls = data.draw(st.sets(st.sampled_from(sorted(self.ids))))
        marked = self.catalog.mark_delivered([self.ids[url] for url in urls], self.now)
        assert marked == len(urls & self.leased.keys())
        self.delivered |= dict.fromkeys(urls & self.leased.keys(), self.now)

    @rule(seconds=st.sampled_from([0.0, 10.0, 1_500.0]))
    def give_up_deliveries(self, seconds):
        late = [url for url, at in self.delivered.items() if self.now - at > seconds]
        assert self.catalog.release_undelivered(self.now, seconds) == len(late)
        self.forget_leases(late)

    @rule(urls=url_lists, data=st.data())
    def adopt(self, urls, data):
        parent = data.draw(st.sampled_from([None, 77_777, *sorted(self.ids.values())]))
        answers = self.catalog.adopt([found(url, 1) for url in urls], parent, self.now)
        for url, due in zip(urls, answers, strict=True):
            self.learn(url, State.PENDING)
            if self.states[url] not in (State.PENDING, State.LEASED):
                assert due is None
                continue
            assert due.url == url
            assert self.ids.setdefault(url, due.doc_id) == due.doc_id
            self.states[url] = State.LEASED
            self.leased[url] = due.doc_id
            self.delivered[url] = self.now

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def ask_for_leases(self, data):
        urls = data.draw(st.sets(st.sampled_from(sorted(self.ids))))
        dues = self.catalog.dues([self.ids[url] for url in urls])
        assert {due.url for due in dues.values()} == urls & self.leased.keys()

    @rule(clean=st.booleans(), keep=st.sampled_from([None, 0.0, 10.0, 1_500.0]))
    def restart(self, clean, keep):
        if clean:
            self.catalog.end_run(self.now)
        self.close()
        self.open()
        recovery = self.catalog.begin_run(self.now, keep_delivered_seconds=keep)
        kept = {
            url for url, at in self.delivered.items() if keep is not None and self.now - at <= keep
        }
        assert recovery.clean is clean
        assert recovery.released == len(self.leased.keys() - kept)
        self.forget_leases(self.leased.keys() - kept)

    def forget_leases(self, urls):
        for url in urls:
            del self.leased[url]
            self.delivered.pop(url, None)
            self.states[url] = State.PENDING

    @invariant()
    def accounts_agree(self):
        if not self.writers:
            return
        assert self.catalog.check() == []
        counts = self.catalog.counts()
        tally = {state: list(self.states.values()).count(state) for state in State}
        assert counts.discovered == len(self.states)
        assert counts.pending == tally[State.PENDING]
        assert counts.leased == tally[State.LEASED]
        assert counts.done == tally[State.DONE]
        assert counts.excluded == tally[State.EXCLUDED]
        assert counts.failed == tally[State.FAILED]


class SharedCatalogMachine(CatalogMachine):
    """Leads the same lives with two writers that take turns."""

    def open(self):
        self.writers = [
            SqliteCatalog.open(self.path, CatalogSettings(), shared=True) for _ in range(2)
        ]


LIVES = settings(
    max_examples=25, stateful_step_count=25, deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
CatalogMachine.TestCase.settings = LIVES
SharedCatalogMachine.TestCase.settings = LIVES
TestCatalogMachine = pytest.mark.timeout(300)(CatalogMachine.TestCase)
TestSharedCatalogMachine = pytest.mark.timeout(300)(SharedCatalogMachine.TestCase)
