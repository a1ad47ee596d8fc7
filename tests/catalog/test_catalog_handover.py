"""The contract of a catalog that two daemons share: deliveries, adoption, what was learned."""

import pytest
from catalog_rig import NOW, done, excluded, failure, found, page

from gossamer.catalog.catalog import HostClock, Learned, Verdict
from gossamer.messages import Kind
from gossamer.outcomes import Outcome, State

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


def lease_all(catalog, now=NOW, **options):
    return catalog.due(1_000, 1_000, now, **options)


def leased(catalog, *urls):
    """Enter URLs and lease them; return what was leased, in this order."""
    catalog.add([found(url) for url in urls], NOW)
    dues = {due.url: due for due in lease_all(catalog)}
    return [dues[url] for url in urls]


class TestDeliveries:
    def test_a_delivered_lease_survives_the_start_of_the_next_run(self, backend, catalog):
        """Its result is on its way: to order the URL again would fetch it twice."""
        first, second = leased(catalog, A, B)
        assert catalog.mark_delivered([first.doc_id], NOW) == 1
        again = backend.open()
        recovery = again.begin_run(NOW + 60, keep_delivered_seconds=60.0)
        assert recovery.released == 1
        assert [due.doc_id for due in lease_all(again, NOW + 60)] == [second.doc_id]
        assert again.commit([done(first)], NOW + 60).applied == 1
        assert again.check() == []

    def test_a_delivery_that_is_too_old_does_not(self, catalog):
        (due,) = leased(catalog, A)
        catalog.mark_delivered([due.doc_id], NOW)
        recovery = catalog.begin_run(NOW + 60.5, keep_delivered_seconds=60.0)
        assert recovery.released == 1
        assert lease_all(catalog, NOW + 60.5) == [due]
        assert catalog.check() == []

    def test_the_ring_keeps_none(self, catalog):
        (due,) = leased(catalog, A)
        catalog.mark_delivered([due.doc_id], NOW)
        assert catalog.begin_run(NOW).released == 1
        assert lease_all(catalog) == [due]
        assert catalog.check() == []

    def test_only_leased_documents_are_marked(self, catalog):
        first, second = leased(catalog, A, B)
        catalog.commit([done(first)], NOW)
        catalog.release([second.doc_id], NOW)
        assert catalog.mark_delivered([first.doc_id, second.doc_id, 99], NOW) == 0
        assert catalog.check() == []

    @pytest.mark.parametrize("end", ["judged", "released", "run"])
    def test_the_mark_ends_with_its_lease(self, catalog, end):
        """The next lease of the URL is not delivered before its own result is on its way."""
        (due,) = leased(catalog, A)
        catalog.mark_delivered([due.doc_id], NOW)
        if end == "judged":
            catalog.commit([failure(due, state=State.PENDING)], NOW)
        elif end == "released":
            catalog.release([due.doc_id], NOW)
        else:
            catalog.begin_run(NOW)
        assert catalog.check() == []
        assert [again.doc_id for again in lease_all(catalog)] == [due.doc_id]
        assert catalog.release_undelivered(NOW + 1e6, 0.0) == 0
        assert catalog.begin_run(NOW, keep_delivered_seconds=1e6).released == 1

    def test_a_result_that_never_comes_is_given_up(self, catalog):
        late, soon, open_one = leased(catalog, A, B, C)
        catalog.mark_delivered([late.doc_id], NOW)
        catalog.mark_delivered([soon.doc_id], NOW + 50)
        assert catalog.release_undelivered(NOW + 100, 100.0) == 0
        assert catalog.release_undelivered(NOW + 101, 100.0) == 1
        assert [due.doc_id for due in lease_all(catalog, NOW + 101)] == [late.doc_id]
        assert catalog.counts().leased == 3
        assert catalog.check() == []
        assert catalog.commit([done(soon), done(open_one)], NOW).applied == 2

    def test_a_release_for_want_of_a_result_counts_no_try(self, catalog):
        (due,) = leased(catalog, A)
        catalog.mark_delivered([due.doc_id], NOW)
        catalog.release_undelivered(NOW + 10, 1.0)
        assert lease_all(catalog, NOW + 10)[0].tries == 0

    def test_released_urls_of_a_parked_host_wait_with_it(self, catalog):
        (due,) = leased(catalog, A)
        catalog.mark_delivered([due.doc_id], NOW)
        catalog.set_host(HostClock(host="a.example", parked_until=NOW + 60))
        catalog.release_undelivered(NOW + 10, 1.0)
        assert catalog.check() == []
        assert lease_all(catalog, NOW + 59) == []
        assert len(lease_all(catalog, NOW + 60)) == 1

    @pytest.mark.parametrize("release", ["run", "undelivered"])
    def test_a_clock_that_was_ahead_keeps_no_lease_for_ever(self, catalog, release):
        """A delivery can lie in the future only by a wrong clock: it counts from now on."""
        (due,) = leased(catalog, A)
        catalog.mark_delivered([due.doc_id], NOW + 1e6)
        if release == "run":
            assert catalog.begin_run(NOW, keep_delivered_seconds=60.0).released == 0
        else:
            assert catalog.release_undelivered(NOW, 60.0) == 0
        assert catalog.release_undelivered(NOW + 61, 60.0) == 1
        assert lease_all(catalog, NOW + 61) == [due]


class TestAdoption:
    def test_an_unknown_url_is_entered_and_leased_at_once(self, catalog):
        (parent,) = leased(catalog, A)
        target = found(B, 1, kind=int(Kind.SITEMAP), via=(A,))
        (due,) = catalog.adopt([target], parent.doc_id, NOW)
        assert (due.url, due.host, due.depth, due.kind) == (B, "b.example", 1, Kind.SITEMAP)
        assert (due.via, due.tries) == ((A,), 0)
        assert catalog.find(B).parent == A
        assert catalog.counts().leased == 2
        assert catalog.next_due_at(NOW) is None
        assert lease_all(catalog) == []
        assert catalog.commit([done(due, [found(C, 2)])], NOW).applied == 1
        assert catalog.check() == []

    def test_a_pending_url_is_leased(self, catalog):
        catalog.add([found(A), found(A + "other")], NOW)
        (due,) = catalog.adopt([found(A)], None, NOW)
        assert due.doc_id == 1
        assert [other.url for other in lease_all(catalog)] == [A + "other"]
        assert lease_all(catalog) == []
        assert catalog.check() == []

    def test_a_url_that_waits_for_a_retry_is_leased(self, catalog):
        (due,) = leased(catalog, A)
        catalog.commit([failure(due, state=State.PENDING, due_at=NOW + 50)], NOW)
        (adopted,) = catalog.adopt([found(A)], None, NOW)
        assert (adopted.doc_id, adopted.tries) == (due.doc_id, 1)
        assert lease_all(catalog, NOW + 50) == []
        assert catalog.next_due_at(NOW + 50) is None
        assert catalog.commit([done(adopted)], NOW).applied == 1
        assert catalog.check() == []

    def test_a_leased_url_is_given_to_whoever_has_a_result(self, catalog):
        """Whose verdict comes first counts; the other is stale."""
        (ordered,) = leased(catalog, A)
        (adopted,) = catalog.adopt([found(A)], None, NOW)
        assert adopted == ordered
        assert catalog.commit([done(adopted)], NOW).applied == 1
        assert catalog.commit([failure(ordered)], NOW).stale == (ordered.doc_id,)
        assert catalog.check() == []

    def test_what_is_settled_is_not_adopted(self, catalog):
        first, second = leased(catalog, A, B)
        catalog.add([excluded(C)], NOW)
        catalog.commit([done(first), failure(second)], NOW)
        before = catalog.counts()
        assert catalog.adopt([found(A), found(B), found(C)], None, NOW) == [None, None, None]
        assert catalog.counts() == before
        assert catalog.check() == []

    @pytest.mark.parametrize("reason", [Outcome.POLICY_TRAP, Outcome.POLICY_BUDGET])
    def test_a_shorter_way_does_not_let_in_what_is_kept_out(self, catalog, reason):
        """Only pages pass the gate that could say so."""
        catalog.add([excluded(A, 9, reason)], NOW)
        assert catalog.adopt([found(A, 1)], None, NOW) == [None]
        assert catalog.find(A).state is State.EXCLUDED
        assert catalog.check() == []

    def test_a_url_that_is_to_be_kept_out_is_entered_as_excluded(self, catalog):
        (parent,) = leased(catalog, A)
        assert catalog.adopt([excluded(B, 1)], parent.doc_id, NOW) == [None]
        assert catalog.counts().excluded == 1
        assert catalog.outcome_counts() == {Outcome.POLICY_SCOPE: 1}
        assert catalog.check() == []

    def test_a_shorter_way_counts(self, catalog):
        catalog.add([found(A, 7)], NOW)
        (due,) = catalog.adopt([found(A, 2)], None, NOW)
        assert due.depth == 2
        assert catalog.check() == []

    def test_answers_come_in_the_order_of_the_questions(self, catalog):
        (first,) = leased(catalog, A)
        catalog.commit([done(first)], NOW)
        answers = catalog.adopt([found(C), found(A), found(B), found(C)], None, NOW)
        assert [due and due.url for due in answers] == [C, None, B, C]
        assert answers[0] == answers[3]
        assert catalog.counts().discovered == 3
        assert catalog.check() == []

    def test_a_parent_that_does_not_exist_is_left_out(self, catalog):
        """The number comes over the wire, from anybody."""
        catalog.adopt([found(A)], 4_000_000_000, NOW)
        assert catalog.find(A).parent is None
        assert catalog.check() == []

    def test_each_may_have_a_parent_of_its_own(self, catalog):
        """Results of many orders arrive together; one transaction takes them all."""
        first, second = leased(catalog, A, B)
        hops = [found(C), found(C + "2"), found(C + "3")]
        assert all(catalog.adopt(hops, [first.doc_id, second.doc_id, None], NOW))
        assert [catalog.find(hop.url).parent for hop in hops] == [A, B, None]
        assert catalog.check() == []

    def test_adopted_urls_count_as_delivered(self, catalog):
        """The result is here: a URL server that starts now must not order the URL again."""
        leased(catalog, A)
        (due,) = catalog.adopt([found(B)], None, NOW)
        assert catalog.begin_run(NOW + 5, keep_delivered_seconds=60.0).released == 1
        assert catalog.commit([done(due)], NOW).applied == 1
        assert catalog.check() == []

    def test_an_adoption_without_a_verdict_is_given_up(self, catalog):
        """The store server may die between the two."""
        catalog.adopt([found(B)], None, NOW)
        assert catalog.release_undelivered(NOW + 100, 60.0) == 1
        assert [due.url for due in lease_all(catalog, NOW + 100)] == [B]
        assert catalog.check() == []

    def test_nothing_found_is_nothing_adopted(self, catalog):
        assert catalog.adopt([], None, NOW) == []


class TestDues:
    def test_what_is_leased_is_told_as_it_was_ordered(self, catalog):
        catalog.add([found(A, 3, kind=int(Kind.FEED), via=(B, C))], NOW)
        (due,) = lease_all(catalog)
        assert catalog.dues([due.doc_id]) == {due.doc_id: due}

    def test_validators_of_an_earlier_visit_are_told(self, catalog):
        (due,) = leased(catalog, A)
        catalog.commit([done(due, etag='"1"', last_modified="yesterday")], NOW)
        catalog.requeue_due(NOW + 1e9, 1)
        (again,) = lease_all(catalog, NOW + 1e9)
        assert catalog.dues([due.doc_id]) == {due.doc_id: again}
        assert (again.etag, again.last_modified) == ('"1"', "yesterday")

    def test_results_of_others_are_stale(self, catalog):
        first, second, third = leased(catalog, A, B, C)
        catalog.commit([done(first)], NOW)
        catalog.release([second.doc_id], NOW)
        catalog.mark_delivered([third.doc_id], NOW)
        asked = [first.doc_id, second.doc_id, third.doc_id, 0, 4_294_967_295]
        assert catalog.dues(asked) == {third.doc_id: third}


class TestLearning:
    def test_tries_are_told_in_their_order_with_where_their_urls_stand(self, catalog):
        first, second = leased(catalog, A, B)
        catalog.commit([done(first)], NOW)
        slow = failure(second, Outcome.HTTP_429, State.PENDING, NOW + 30)
        catalog.commit([slow], NOW)
        learned = catalog.results_after(0, 10)
        assert learned[0] == Learned(
            1, first.doc_id, "a.example", A, Outcome.OK, 200, NOW, State.DONE, 0.0
        )
        assert (learned[1].host, learned[1].outcome) == ("b.example", Outcome.HTTP_429)
        assert (learned[1].state, learned[1].due_at) == (State.PENDING, NOW + 30)

    def test_a_listener_hears_everything_once(self, catalog):
        catalog.add([found(f"{A}{number}") for number in range(25)], NOW)
        heard, last = [], catalog.last_fetch_id()
        assert last == 0
        for due in lease_all(catalog):
            catalog.commit([done(due)], NOW)
            if due.doc_id % 4 == 0:
                for learned in catalog.results_after(last, 3):
                    heard.append(learned.doc_id)
                    last = learned.fetch_id
        while batch := catalog.results_after(last, 3):
            heard += [learned.doc_id for learned in batch]
            last = batch[-1].fetch_id
        assert heard == list(range(1, 26))
        assert last == catalog.last_fetch_id() == 25

    def test_what_was_never_fetched_is_no_result(self, catalog):
        (due,) = leased(catalog, A)
        waiting = page(
            due.doc_id, outcome=int(Outcome.POLICY_ROBOTS), fetched_at=0.0, checksum=None
        )
        catalog.commit([Verdict(waiting, State.EXCLUDED)], NOW)
        assert catalog.results_after(0, 10) == []
        assert catalog.last_fetch_id() == 0


class TestNotes:
    def test_lines_are_added_to_a_note_once(self, catalog):
        assert catalog.extend_note("starts", [A, B, A]) == [A, B]
        assert catalog.extend_note("starts", [C, B]) == [A, B, C]
        assert catalog.extend_note("starts", []) == [A, B, C]
        assert catalog.note("starts") == f"{A}\n{B}\n{C}"
