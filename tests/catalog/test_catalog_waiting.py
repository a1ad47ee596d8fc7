"""Another look at URLs that wait; URLs on probation."""

from catalog_rig import NOW, Kind, done, excluded, failure, found

from gossamer.catalog.catalog import Pending
from gossamer.messages import News
from gossamer.outcomes import Outcome, State

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


def lease_all(catalog):
    return catalog.due(1_000, 1_000, NOW)


def urls(batch):
    return [due.url for due in batch]


class FakeGate:
    """A gate that lets everything in, and closes the door to what was found on some pages."""

    def __init__(self, closing=()):
        self.closing = closing
        self.heard = []
        self.asked = []
        self.ended = 0

    def begin(self, is_open):
        self.is_open = is_open

    def admit(self, found):
        self.asked.append(found.url)
        return found

    def judged(self, finder, findings):
        self.heard.append((finder, News(findings.news)))

    def closed(self):
        return ["a.example"] if self.closing else []

    def refusal(self, finder):
        return f"not from {finder}" if finder in self.closing else None

    def changed(self):
        return []

    def end(self):
        self.ended += 1


class TestKeepOut:
    def test_pending_urls_are_shown_with_all_that_decides_about_them(self, catalog):
        catalog.add([found(A), found(B, 3, kind=int(Kind.SITEMAP)), excluded(C)], NOW)
        assert list(catalog.pending()) == [
            Pending(1, A, "a.example", 0, Kind.PAGE),
            Pending(2, B, "b.example", 3, Kind.SITEMAP),
        ]

    def test_keep_out_excludes_pending_urls_only(self, catalog):
        catalog.add([found(A), found(B), excluded(C, outcome=Outcome.POLICY_ROBOTS)], NOW)
        (leased,) = catalog.due(1, 1, NOW)
        assert catalog.keep_out([1, 2, 3, 99], Outcome.POLICY_SCOPE, NOW, "not now") == 1
        row = catalog.row(2 if leased.doc_id == 1 else 1)
        assert (row.state, row.outcome, row.detail) == (
            State.EXCLUDED,
            Outcome.POLICY_SCOPE,
            "not now",
        )
        assert catalog.outcome_counts() == {Outcome.POLICY_ROBOTS: 1, Outcome.POLICY_SCOPE: 1}
        assert catalog.check() == []
        assert lease_all(catalog) == []

    def test_what_was_kept_out_comes_back(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        assert catalog.keep_out([1, 2], Outcome.POLICY_SCOPE, NOW) == 2
        assert catalog.readmit([1, 2], NOW) == 2
        assert urls(lease_all(catalog)) == [A, B]
        assert catalog.outcome_counts() == {}
        assert catalog.check() == []

    def test_a_retry_that_is_kept_out_changes_its_outcome(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([failure(due, state=State.PENDING, due_at=NOW + 9)], NOW)
        assert catalog.keep_out([1], Outcome.POLICY_SCOPE, NOW) == 1
        assert catalog.outcome_counts() == {Outcome.POLICY_SCOPE: 1}
        assert catalog.check() == []
        assert catalog.due(9, 9, NOW + 99) == []

    def test_nothing_to_keep_out_is_no_mistake(self, catalog):
        assert catalog.keep_out([], Outcome.POLICY_SCOPE, NOW) == 0
        assert catalog.check() == []


class TestProbation:
    def test_they_come_last_and_few_at_a_time(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        on_probation = [found(f"{A}p{n}", 1, probation="a.example/") for n in range(20)]
        catalog.commit([done(due, [*on_probation, found(f"{A}x", 1)])], NOW)
        assert urls(lease_all(catalog)) == [f"{A}x"]
        assert urls(lease_all(catalog)) == [f"{A}p{n}" for n in range(8)]
        assert len(lease_all(catalog)) == 8
        assert len(lease_all(catalog)) == 4
        assert lease_all(catalog) == []
        assert catalog.check() == []

    def test_retries_of_others_go_before_them(self, catalog):
        catalog.add([found(A), found(f"{A}retry")], NOW)
        first, second = lease_all(catalog)
        on_probation = found(f"{A}p", 1, probation="a.example/")
        catalog.commit([done(first, [on_probation]), failure(second, state=State.PENDING)], NOW)
        assert urls(lease_all(catalog)) == [f"{A}retry"]
        assert urls(lease_all(catalog)) == [f"{A}p"]

    def test_another_page_acquits(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        first, second = lease_all(catalog)
        names = [f"{A}p{n}" for n in range(3)]
        catalog.commit([done(first, [found(url, 1, probation="x/") for url in names])], NOW)
        catalog.commit(
            [done(second, [found(names[1], 1), found(names[2], 1, probation="y/")])], NOW
        )
        assert urls(lease_all(catalog)) == [names[1]]
        assert urls(lease_all(catalog)) == [names[0], names[2]]

    def test_two_pages_of_one_commit_acquit_in_any_order(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        first, second = lease_all(catalog)
        one = done(first, [found(f"{A}p", 1, probation="x/"), found(f"{A}q", 1)])
        other = done(second, [found(f"{A}p", 1), found(f"{A}q", 1, probation="x/")])
        catalog.commit([one, other], NOW)
        assert sorted(urls(lease_all(catalog))) == [f"{A}p", f"{A}q"]

    def test_the_gate_hears_of_the_first_visit_only(self, catalog):
        gate = FakeGate()
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([done(due, [found(f"{A}p", 1, probation="a.example/")])], NOW, gate=gate)
        assert gate.heard == []
        (due,) = lease_all(catalog)
        catalog.commit([done(due, news=int(News.NONE))], NOW, gate=gate)
        assert gate.heard == [(A, News.NONE)]
        later = NOW + 10**9
        catalog.requeue_due(later, 9)
        for due in catalog.due(9, 9, later) + catalog.due(9, 9, later):
            catalog.commit([done(due, news=int(News.NONE))], later, gate=gate)
        assert gate.heard == [(A, News.NONE)]
        assert gate.ended == 4

    def test_a_closed_door_keeps_out_what_was_found_there_only(self, catalog):
        catalog.add([found(A), found(f"{A}other")], NOW)
        first, second = lease_all(catalog)
        catalog.commit([done(first, [found(f"{A}p{n}", 1, probation="x/") for n in range(3)])], NOW)
        gate = FakeGate(closing=(A,))
        new = [found(f"{A}q", 1, probation="y/"), found(f"{A}r", 1)]
        catalog.commit([done(second, new)], NOW, gate=gate)
        kept_out = {row.url: row.detail for row in catalog.rows() if row.state is State.EXCLUDED}
        assert kept_out == {f"{A}p{n}": f"not from {A}" for n in range(3)}
        assert catalog.outcome_counts()[Outcome.POLICY_TRAP] == 3
        assert catalog.check() == []

    def test_another_page_brings_back_what_was_kept_out_as_a_trap_if_the_gate_agrees(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        first, second = lease_all(catalog)
        trapped = [excluded(f"{A}{name}", 1, Outcome.POLICY_TRAP) for name in "pq"]
        catalog.commit([done(first, trapped)], NOW)
        gate = FakeGate()
        again = [found(f"{A}p", 1), found(f"{A}q", 1, probation="x/")]
        catalog.commit([done(second, again)], NOW, gate=gate)
        assert gate.asked == [f"{A}p"]
        assert urls(lease_all(catalog)) == [f"{A}p"]
        assert catalog.check() == []

    def test_the_gate_learns_which_hosts_are_open(self, catalog):
        gate = FakeGate()
        catalog.add([found(A), excluded(B)], NOW)
        catalog.commit([], NOW, gate=gate)
        assert [gate.is_open(name) for name in ("a.example", "b.example", "c.example")] == [
            True,
            False,
            False,
        ]


class TestTryAgain:
    def test_what_failed_in_such_a_way_gets_one_more_try(self, catalog):
        catalog.add([found(A), found(B), found(C)], NOW)
        first, second, third = lease_all(catalog)
        catalog.commit([failure(first, Outcome.HTTP_5XX), failure(second, Outcome.HTTP_4XX)], NOW)
        catalog.commit([done(third)], NOW)
        passing = (Outcome.HTTP_5XX, Outcome.NET_RESET)
        assert catalog.try_again(passing, 2, NOW) == 1
        assert catalog.try_again(passing, 2, NOW) == 0
        (again,) = lease_all(catalog)
        assert (again.url, again.tries) == (A, 1)
        catalog.commit([failure(again, Outcome.NET_RESET)], NOW)
        assert catalog.try_again(passing, 2, NOW) == 0
        assert catalog.find(A).state is State.FAILED
        assert catalog.check() == []

    def test_some_failures_are_told_by_their_status(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        first, second = lease_all(catalog)
        gone = failure(first, Outcome.HTTP_4XX, status=404)
        catalog.commit([gone, failure(second, Outcome.HTTP_4XX, status=408)], NOW)
        assert catalog.try_again((), 2, NOW, statuses=(408, 425)) == 1
        assert [again.url for again in lease_all(catalog)] == [B]
